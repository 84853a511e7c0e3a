package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

const (
	// atOnce is how many trials are sent before the first is answered.
	atOnce = 24
)

// worker runs rounds in a schema, and over connections, of its own.
type worker struct {
	*campaign
	schema   string
	us, peer *server
	tally    tally
}

func (c *campaign) worker(ctx context.Context, schema string) (*worker, error) {
	w := &worker{campaign: c, schema: schema}
	var err error
	if w.us, err = dial(ctx, c.o.DSN, schema); err != nil {
		return nil, err
	}
	if c.o.Peer != "" {
		if w.peer, err = dial(ctx, c.o.Peer, schema); err != nil {
			return nil, err
		}
		a, err := w.peer.one(ctx, "SHOW lc_collate")
		if err != nil {
			return nil, err
		}
		if len(a.rows) != 1 || a.rows[0][0].text != "C" {
			return nil, fmt.Errorf("the peer must sort text by its bytes: make it with initdb --lc-collate=C --lc-ctype=C.UTF-8")
		}
	}
	for _, s := range w.servers() {
		a, err := s.one(ctx, "CREATE ROLE "+w.role())
		if err != nil {
			return nil, err
		}
		if a.failed() && a.code != "42710" {
			return nil, errors.New(a.brief())
		}
	}
	return w, nil
}

// role is one with few privileges.
func (w *worker) role() string { return w.schema + "_role" }

func (w *worker) servers() []*server {
	if w.peer == nil {
		return []*server{w.us}
	}
	return []*server{w.us, w.peer}
}

func (w *worker) close() {
	for _, s := range w.servers() {
		s.close()
	}
}

// rounds runs rounds until there are no more.
func (w *worker) rounds(ctx context.Context) error {
	for {
		round, ok := w.distribute()
		if !ok {
			return nil
		}
		w.tally = newTally()
		if err := w.round(ctx, round); err != nil {
			return fmt.Errorf("round %d of seed %d: %w", round, w.o.Seed, err)
		}
		if err := w.ended(round, w.tally); err != nil {
			return err
		}
	}
}

// round runs the trials on one schema. Trials that change nothing are collected until
// there are enough of them or a change is due.
func (w *worker) round(ctx context.Context, round int) error {
	g := &generator{r: rand.New(rand.NewPCG(w.o.Seed, uint64(round))), schema: w.schema, role: w.role()}
	if err := w.fresh(ctx, nil); err != nil {
		return err
	}
	var setup []string
	var waiting []trial
	flush := func() error {
		_, err := w.try(ctx, waiting)
		waiting = waiting[:0]
		return err
	}
	// change runs a statement that changes state; the round ends where the two sides
	// differ.
	change := func(c change) (bool, error) {
		if err := flush(); err != nil {
			return false, err
		}
		t := trial{kind: "write", parts: append([]string{c.sql}, c.more...), risky: g.risky, setup: setup, state: true, after: c.after}
		list, err := w.try(ctx, []trial{t})
		if err != nil || list[0].failure != "" || list[0].apart {
			return false, err
		}
		setup = slices.Concat(setup, t.parts, t.after)
		if list[0].code == "" && c.done != nil {
			c.done()
		}
		if c.check != "" && w.peer != nil {
			waiting = append(waiting, trial{kind: "peer", parts: []string{c.check}, setup: setup})
		}
		return true, nil
	}
	for _, c := range w.create(g) {
		if ok, err := change(c); !ok {
			return err
		}
	}
	for range w.trials {
		g.risky = g.chance(25)
		if g.chance(w.changes) {
			if ok, err := change(w.change(g)); !ok {
				return err
			}
			continue
		}
		t := w.trial(g, w.peer != nil)
		t.setup = setup
		if waiting = append(waiting, t); len(waiting) >= atOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// fresh makes an empty schema, and replays a set-up in it.
func (w *worker) fresh(ctx context.Context, setup []string) error {
	for _, s := range w.servers() {
		list := []request{{sql: "ROLLBACK"}, {sql: "RESET ROLE"}, {sql: "DROP SCHEMA IF EXISTS " + w.schema + " CASCADE"}, {sql: "CREATE SCHEMA " + w.schema}}
		for _, sql := range setup {
			list = append(list, request{sql: sql})
		}
		answers, err := s.run(ctx, list...)
		if err != nil {
			return err
		}
		for i, a := range answers[2:4] {
			if a.failed() {
				return fmt.Errorf("%s: %s", list[2+i].sql, a.brief())
			}
		}
	}
	return nil
}

// try runs trials, counts them, and reports and keeps failures.
func (w *worker) try(ctx context.Context, list []trial) ([]finding, error) {
	found, err := w.answers(ctx, list)
	for i, f := range found {
		w.tally.count(list[i], f)
		if f.failure == "" || f.signature != "" && !w.first(f.signature) {
			continue
		}
		if failed := w.report(ctx, list[i], f); failed != nil {
			return found, errors.Join(err, failed)
		}
	}
	return found, err
}

// ask runs one trial.
func (w *worker) ask(ctx context.Context, t trial) (finding, error) {
	list, err := w.answers(ctx, []trial{t})
	if err != nil {
		return finding{}, err
	}
	return list[0], nil
}

// answers sends trials to both sides concurrently and judges the answers.
func (w *worker) answers(ctx context.Context, list []trial) ([]finding, error) {
	var ours, theirs []request
	for _, t := range list {
		ours = append(ours, t.requests()...)
		if t.kind == "peer" || t.kind == "write" {
			theirs = append(theirs, t.requests()...)
		}
	}
	type said struct {
		answers []*answer
		err     error
	}
	peer := make(chan said, 1)
	if w.peer != nil {
		go func() {
			answers, err := w.peer.run(ctx, theirs...)
			peer <- said{answers, err}
		}()
	}
	answers, err := w.us.run(ctx, ours...)
	var other said
	if w.peer != nil {
		if other = <-peer; other.err != nil {
			return nil, fmt.Errorf("the peer: %w", other.err)
		}
	}
	if ctx.Err() != nil { // an interrupted statement has no answer
		return nil, ctx.Err()
	}
	found := make([]finding, len(list))
	for i, t := range list {
		n := len(t.requests())
		mine := answers[:min(n, len(answers))]
		answers = answers[len(mine):]
		var its []*answer
		if w.peer != nil && (t.kind == "peer" || t.kind == "write") {
			its, other.answers = other.answers[:n], other.answers[n:]
			for _, a := range its {
				if a.lost {
					return nil, fmt.Errorf("the peer is lost: %s\n%s", a.text, t.parts[0])
				}
			}
		}
		found[i] = t.judge(mine, its, w.o.Allow)
	}
	return found, err
}
