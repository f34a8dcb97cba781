package server

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"time"

	"platform.dev/platform/server/observer"
	"platform.dev/platform/server/web"
)

// ownLog is the platform's own log: what log says, with the ids of traces, and
// the same as lines of JSON in the log store once that is open.
type ownLog struct {
	to  atomic.Pointer[instruments]
	now func() time.Time
}

// logger writes to both.
func (o *ownLog) logger(log *slog.Logger) *slog.Logger {
	return slog.New(web.TraceLog(slog.NewMultiHandler(log.Handler(), slog.NewJSONHandler(o, nil))))
}

// Write keeps one record.
func (o *ownLog) Write(record []byte) (int, error) {
	if t := o.to.Load(); t != nil {
		t.keep(map[string]string{labelComponent: serviceNamespace, labelStream: "log"},
			observer.Line{At: o.now(), Text: string(bytes.TrimSuffix(record, []byte("\n")))})
	}
	return len(record), nil
}
