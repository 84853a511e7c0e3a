package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// inserts writes single rows with unique numbers: an acknowledged row is there exactly
// once, a refused one is not there.
type inserts struct {
	mu    sync.Mutex
	next  int64
	fresh map[int64]outcome // since the last check
	// Totals of earlier rounds.
	count, sum int64
	upto       int64 // the highest number of earlier rounds
}

func (w *inserts) name() string { return "inserts" }

func (w *inserts) setup(ctx context.Context, s *session) error {
	w.fresh = map[int64]outcome{}
	return setupAll(ctx, s, "CREATE TABLE nm_inserts (id int8 PRIMARY KEY, note text)")
}

func (w *inserts) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){w.run, w.run}
}

func (w *inserts) run(ctx context.Context, s *session) {
	op := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		w.mu.Lock()
		w.next++
		id := w.next
		w.mu.Unlock()
		var o outcome
		if s.r.IntN(4) > 0 {
			_, o = s.exec(op, "INSERT INTO nm_inserts VALUES ($1, $2)", id, fmt.Sprint("row ", id))
		} else {
			o = s.tx(op, "BEGIN", func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, "INSERT INTO nm_inserts VALUES ($1, $2)", id, fmt.Sprint("row ", id))
				return err
			})
		}
		w.mu.Lock()
		w.fresh[id] = o
		w.mu.Unlock()
	}
}

func (w *inserts) check(ctx context.Context, s *session, first bool) error {
	rows, err := s.read(ctx, "SELECT id FROM nm_inserts WHERE id > $1", w.upto)
	if err != nil {
		return err
	}
	there := map[int64]int{}
	for _, r := range rows {
		there[number(r[0])]++
	}
	for id, n := range there {
		o, asked := w.fresh[id]
		switch {
		case !asked:
			return fmt.Errorf("row %d was never written", id)
		case n > 1:
			return fmt.Errorf("row %d is there %d times", id, n)
		case o == refused:
			return fmt.Errorf("row %d is there and was refused", id)
		}
	}
	lost := 0
	for id, o := range w.fresh {
		if o == acked && there[id] == 0 {
			lost++
		}
		if first && o == unknown {
			w.fresh[id] = refused
			if there[id] > 0 {
				w.fresh[id] = acked
			}
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d rows of this round are lost", lost, len(w.fresh))
	}
	rows, err = s.read(ctx, "SELECT count(*), coalesce(sum(id), 0)::int8, count(*) FILTER (WHERE note IS DISTINCT FROM 'row ' || id) FROM nm_inserts WHERE id <= $1", w.upto)
	if err != nil {
		return err
	}
	if c, sum, bad := number(rows[0][0]), number(rows[0][1]), number(rows[0][2]); c != w.count || sum != w.sum || bad != 0 {
		return fmt.Errorf("rows of earlier rounds: %d with the sum %d, %d of them spoilt; %d with the sum %d are right", c, sum, bad, w.count, w.sum)
	}
	return nil
}

// endRound adds this round's rows to the totals.
func (w *inserts) endRound() {
	for id, o := range w.fresh {
		if o == acked {
			w.count++
			w.sum += id
		}
	}
	clear(w.fresh)
	w.upto = w.next
}
