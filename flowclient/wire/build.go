package wire

import (
	"net/url"
	"strconv"
)

// BuildPath takes GET and answers 200 with a flowclient.Build.
const BuildPath = "/builds/{run}"

// BuildLogPath takes GET with the query of LogQuery and answers 200 with a LogAnswer.
const BuildLogPath = "/builds/{run}/log"

// LogAnswer is the last lines of a build's stage, oldest first.
type LogAnswer struct {
	Lines []string `json:"lines"`
}

// LogRequest reads which lines of a log are asked for: a stage ("" for all) and
// how many. *flowclient.Invalid names what cannot stand.
func LogRequest(query string) (stage string, last int, err error) {
	q, err := Query(query, "stage", "last")
	if err != nil {
		return "", 0, err
	}
	if last, err = strconv.Atoi(q["last"]); err != nil {
		return "", 0, invalid("last", q["last"], "must be a number of lines")
	}
	return q["stage"], last, nil
}

// LogQuery is the query that asks for the last lines of a stage.
func LogQuery(stage string, last int) string {
	q := url.Values{"last": {strconv.Itoa(last)}}
	if stage != "" {
		q.Set("stage", stage)
	}
	return q.Encode()
}
