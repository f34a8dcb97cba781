package wire

import (
	"net/url"
	"strconv"

	"platform.dev/platform/flowclient"
)

// DoraPath takes GET with ?project= and ?days= (1 to flowclient.MaxDoraDays, 30
// without it) and answers 200 with a flowclient.DoraReport.
const DoraPath = "/evidence/dora"

// DoraRequest reads project and days from a query; *flowclient.Invalid when
// the project is missing or the days are none.
func DoraRequest(query string) (project string, days int, err error) {
	q, err := Query(query, "project", "days")
	if err != nil {
		return "", 0, err
	}
	days = flowclient.DefaultDoraDays
	if text, asked := q["days"]; asked {
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > flowclient.MaxDoraDays {
			return "", 0, invalid("days", text, "must be a number from 1 to %d", flowclient.MaxDoraDays)
		}
	}
	return q["project"], days, required("project", q["project"])
}

// DoraQuery is the query that asks how a project delivered in so many days.
func DoraQuery(project string, days int) string {
	return url.Values{"project": {project}, "days": {strconv.Itoa(days)}}.Encode()
}
