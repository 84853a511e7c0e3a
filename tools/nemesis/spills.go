package main

import (
	"context"
	"fmt"
	"time"
)

// spills runs queries that exceed their memory limit: the answer is the same each time,
// or an error that reports a damaged temporary file.
type spills struct{ answer string }

const spilling = `SELECT count(*), sum(c)::int8, max(s), min(s) FROM
	(SELECT md5((k % 45000)::text) AS s, count(*) AS c FROM generate_series(0::int8, 60000) k GROUP BY 1) a`

func (w *spills) name() string { return "spills" }

func (w *spills) setup(ctx context.Context, s *session) error {
	rows, err := s.read(ctx, spilling)
	w.answer = fmt.Sprint(rows)
	return err
}

func (w *spills) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){func(ctx context.Context, s *session) {
		s.damage = true
		op := context.WithoutCancel(ctx)
		for ctx.Err() == nil {
			_, err := s.try(op, "SET work_mem = '7MB'")
			var rows [][]any
			if err == nil {
				rows, err = s.try(op, spilling)
			}
			o := s.judge(err, false)
			s.t.add(s.name, o)
			if o == acked && fmt.Sprint(rows) != w.answer {
				s.c.report("spills: the answer is %v, not %s", rows, w.answer)
			}
			wait(ctx, 250*time.Millisecond)
		}
	}}
}

func (w *spills) check(context.Context, *session, bool) error { return nil }

func (w *spills) endRound() {}
