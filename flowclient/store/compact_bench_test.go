package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkAWriteWhileOldRowsAreRemoved is a message that is put into the
// outbox while 20,000 old events of 8 KiB each are removed: how long it waits.
func BenchmarkAWriteWhileOldRowsAreRemoved(b *testing.B) {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	var took []time.Duration
	for range b.N {
		b.StopTimer()
		ctx := context.Background()
		s, err := Open(ctx, filepath.Join(b.TempDir(), "flow.db"), nil)
		must(err)
		body := append(append([]byte(`{"who":"`), bytes.Repeat([]byte("x"), 8<<10)...), `"}`...)
		must(s.file.Update(ctx, "fill", func(tx *sql.Tx) error {
			for i := range 20_000 {
				_, err := tx.ExecContext(ctx, `INSERT INTO events (key, kind, at, project, component, walkthrough, body) VALUES (?, 'build.passed', ?, 'shop', ?, FALSE, ?)`,
					fmt.Sprint(i), days(900).Add(time.Duration(i)).UnixNano(), fmt.Sprint("shop-", i%50), body)
				if err != nil {
					return err
				}
			}
			return nil
		}))
		ended := make(chan error)
		b.StartTimer()
		go func() {
			ended <- s.Compact(ctx, today, Keep{History: time.Hour}, func(string, int64) {})
		}()
		for i := 0; ; i++ {
			began := time.Now()
			must(s.Put(ctx, fmt.Sprint(i), "platform", []byte(`{}`), []byte(`{}`), today))
			took = append(took, time.Since(began))
			select {
			case err := <-ended:
				must(err)
			default:
				continue
			}
			break
		}
		must(s.Close())
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/p99")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs/max")
}
