package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// bulk writes and deletes batches of many rows, together with a row of another table,
// in one transaction: all of it or nothing. Batches are large enough to be segment
// files, and small enough to be compacted.
type bulk struct {
	// timeouts makes some COMMITs run into statement_timeout.
	timeouts bool

	mu      sync.Mutex
	next    int64
	batches map[int64]*batch
}

type batch struct {
	rows  int64
	there bool
	maybe bool // there is uncertain
	busy  bool // a client works on it
}

func (w *bulk) name() string { return "bulk" }

func (w *bulk) setup(ctx context.Context, s *session) error {
	w.batches = map[int64]*batch{}
	return setupAll(ctx, s, "CREATE TABLE nm_bulk (batch int8, i int4, pad text)", "CREATE TABLE nm_batches (batch int8, n int8)")
}

func (w *bulk) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){w.run, w.run}
}

// pad returns the text of a row, which makes batches too large for the log.
func pad(batch, i string) string {
	return fmt.Sprintf("md5(%[1]s || 'a' || %[2]s) || md5(%[1]s || 'b' || %[2]s)", batch, i)
}

func (w *bulk) run(ctx context.Context, s *session) {
	op := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		least := 1
		if s.r.IntN(3) > 0 {
			least = maxBatches
		}
		if id, b := w.oldest(least); b != nil {
			w.done(b, false, w.remove(op, s, id))
		} else {
			id, b := w.add(int64(1000 + s.r.IntN(1500)))
			w.done(b, true, w.write(op, s, id, b.rows))
		}
		wait(ctx, time.Duration(s.r.IntN(60))*time.Millisecond)
	}
}

func (w *bulk) add(rows int64) (int64, *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	b := &batch{rows: rows, busy: true}
	w.batches[w.next] = b
	return w.next, b
}

// maxBatches bounds the duration of checks.
const maxBatches = 12

// oldest claims the oldest batch if there are at least so many.
func (w *bulk) oldest(least int) (id int64, b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for k, x := range w.batches {
		if x.there && !x.maybe && !x.busy {
			if n++; b == nil || k < id {
				id, b = k, x
			}
		}
	}
	if b == nil || n < least {
		return 0, nil
	}
	b.busy = true
	return id, b
}

func (w *bulk) done(b *batch, there bool, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.busy = false
	switch o {
	case acked:
		b.there = there
	case unknown:
		b.maybe = true
	}
}

func (w *bulk) write(ctx context.Context, s *session, id, rows int64) outcome {
	values := fmt.Sprintf("SELECT %d::int8, g::int4, %s FROM generate_series(0, %d) g", id, pad(fmt.Sprint("'", id, "'"), "g::text"), rows-1)
	copies, limit := s.r.IntN(3) == 0, 0
	if w.timeouts && s.r.IntN(5) == 0 {
		limit = 2 + s.r.IntN(40)
	}
	return s.tx(ctx, "BEGIN", func(ctx context.Context, conn *pgx.Conn) error {
		if copies {
			// The same rows, sent by the client.
			rows, err := conn.Query(ctx, values)
			if err != nil {
				return err
			}
			all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
			if err != nil {
				return err
			}
			if _, err := conn.CopyFrom(ctx, pgx.Identifier{"nm_bulk"}, []string{"batch", "i", "pad"}, pgx.CopyFromRows(all)); err != nil {
				return err
			}
		} else if _, err := conn.Exec(ctx, "INSERT INTO nm_bulk "+values); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "INSERT INTO nm_batches VALUES ($1, $2)", id, rows); err != nil {
			return err
		}
		if limit > 0 { // may expire during COMMIT
			_, err := conn.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", limit))
			return err
		}
		return nil
	})
}

func (w *bulk) remove(ctx context.Context, s *session, id int64) outcome {
	return s.tx(ctx, "BEGIN", func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "DELETE FROM nm_bulk WHERE batch = $1", id); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "DELETE FROM nm_batches WHERE batch = $1", id)
		return err
	})
}

func (w *bulk) check(ctx context.Context, s *session, first bool) error {
	rows, err := s.read(ctx, fmt.Sprintf(`SELECT coalesce(a.batch, b.batch), coalesce(a.c, 0), coalesce(a.s, 0)::int8, coalesce(a.bad, 0), coalesce(b.n, 0)::int8, coalesce(b.c, 0)
		FROM (SELECT batch, count(*) AS c, sum(i) AS s, count(*) FILTER (WHERE pad IS DISTINCT FROM %s) AS bad FROM nm_bulk GROUP BY batch) a
		FULL JOIN (SELECT batch, max(n) AS n, count(*) AS c FROM nm_batches GROUP BY batch) b ON a.batch = b.batch`, pad("batch::text", "i::text")))
	if err != nil {
		return err
	}
	there := map[int64]bool{}
	for _, r := range rows {
		id, count, sum, bad, n, times := number(r[0]), number(r[1]), number(r[2]), number(r[3]), number(r[4]), number(r[5])
		b := w.batches[id]
		switch {
		case b == nil:
			return fmt.Errorf("batch %d is there and should not", id)
		case count != b.rows || sum != b.rows*(b.rows-1)/2 || bad != 0 || n != b.rows || times != 1:
			return fmt.Errorf("batch %d of %d rows: %d rows with the sum %d, %d of them spoilt, and %d rows that say %d", id, b.rows, count, sum, bad, times, n)
		}
		there[id] = true
	}
	for id, b := range w.batches {
		if b.maybe && first {
			b.there, b.maybe = there[id], false
		}
		if b.there != there[id] {
			return fmt.Errorf("batch %d is there: %v; it was acknowledged to be: %v", id, there[id], b.there)
		}
	}
	return nil
}

func (w *bulk) endRound() {
	for id, b := range w.batches {
		if !b.there {
			delete(w.batches, id) // must never come back
		}
	}
}
