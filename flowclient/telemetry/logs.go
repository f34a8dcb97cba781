package telemetry

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"platform.dev/platform/flowclient"
)

// logs is how errors name the store of logs.
const logs = "log store"

// Bounds of a query's lines.
const (
	defaultLines = 100
	mostLines    = 5000 // Loki's default bound
)

// logsAnswer is GET /loki/api/v1/query_range.
type logsAnswer struct {
	Data struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Stream map[string]string `json:"stream"`
			Values [][]any           `json:"values"` // time, line, and with some versions metadata
		} `json:"result"`
	} `json:"data"`
}

// Logs are the lines that match, oldest first; of more than q.Limit, the newest.
func (c *Client) Logs(ctx context.Context, q flowclient.LogQuery) ([]flowclient.LogEntry, error) {
	query, err := selector(q)
	if err != nil {
		return nil, err
	}
	if q.Limit < 0 || q.Limit > mostLines {
		return nil, &flowclient.Invalid{Field: "limit", Value: strconv.Itoa(q.Limit), Why: "must be a number from 1 to " + strconv.Itoa(mostLines)}
	}
	v := url.Values{"query": {query}, "limit": {strconv.Itoa(cmp.Or(q.Limit, defaultLines))}, "direction": {"backward"}}
	if !q.From.IsZero() {
		v.Set("start", strconv.FormatInt(q.From.UnixNano(), 10))
	}
	if !q.To.IsZero() {
		v.Set("end", strconv.FormatInt(q.To.UnixNano(), 10))
	}
	var answer logsAnswer
	err = c.ask(ctx, logs, c.cfg.Loki+"/loki/api/v1/query_range?"+v.Encode(), &answer)
	if errors.Is(err, errMissing) {
		return nil, &flowclient.Upstream{Part: logs, Err: errMissing}
	}
	if err != nil {
		return nil, err
	}
	return entries(answer)
}

// entries puts the lines of all streams in order. Those of one instant keep
// the order of their stream, which is answered backwards.
func entries(answer logsAnswer) ([]flowclient.LogEntry, error) {
	list := []flowclient.LogEntry{}
	for _, r := range answer.Data.Result {
		for _, value := range slices.Backward(r.Values) {
			e, err := entry(r.Stream, value)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b flowclient.LogEntry) int { return a.At.Compare(b.At) })
	return list, nil
}

func entry(labels map[string]string, value []any) (flowclient.LogEntry, error) {
	if len(value) >= 2 {
		stamp, isText := value[0].(string)
		text, isLine := value[1].(string)
		at, err := strconv.ParseInt(stamp, 10, 64)
		if isText && isLine && err == nil {
			return flowclient.LogEntry{At: nanos(at).time(), Labels: labels, Text: text}, nil
		}
	}
	return flowclient.LogEntry{}, &flowclient.Upstream{Part: logs, Err: errors.New("a value of the answer is no [\"<nanoseconds>\", \"<line>\"]")}
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// selector is the query in LogQL, labels sorted.
func selector(q flowclient.LogQuery) (string, error) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q.Labels)) {
		if !labelName.MatchString(name) {
			return "", &flowclient.Invalid{Field: "labels", Value: name, Why: "must be letters, digits and underscores, and begin with no digit"}
		}
		if q.Labels[name] != "" {
			parts = append(parts, name+"="+strconv.Quote(q.Labels[name]))
		}
	}
	if len(parts) == 0 {
		return "", &flowclient.Invalid{Field: "labels", Why: "must hold at least one label with a value"}
	}
	query := "{" + strings.Join(parts, ",") + "}"
	if q.Contains != "" {
		query += " |= " + strconv.Quote(q.Contains)
	}
	return query, nil
}
