package sqlfuzz

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Options say what is run. Without a Peer the server is held against itself.
type Options struct {
	DSN, Peer   string
	Statements  int           // sent to the server, at least
	For         time.Duration // no round begins after it; 0 is no limit
	Seed        uint64
	From        int      // the first round
	Cases       string   // directory for failing statements; empty keeps none
	Allow       []string // SQLSTATEs of the server that are counted, not failures
	MaxFailures int      // after which the run ends
}

// perRound is how many statements share a schema.
const perRound = 150

// fuzzer is one run.
type fuzzer struct {
	o        Options
	out      io.Writer
	us, peer *server
	counts   map[string]int
	failures int
	seen     map[string]bool
}

// Run sends random statements and reports to out. The error says that there
// were failures, or that the run could not go on.
func Run(ctx context.Context, o Options, out io.Writer) error {
	f := &fuzzer{o: o, out: out, counts: map[string]int{}, seen: map[string]bool{}}
	var err error
	if f.us, err = dial(ctx, o.DSN); err != nil {
		return err
	}
	defer f.us.close()
	if o.Peer != "" {
		if f.peer, err = dial(ctx, o.Peer); err != nil {
			return err
		}
		defer f.peer.close()
		a, err := f.peer.run(ctx, "SHOW lc_collate")
		if err != nil {
			return err
		}
		if len(a.rows) != 1 || a.rows[0][0].text != "C" {
			return fmt.Errorf("the peer must sort text by its bytes: make it with initdb --lc-collate=C --lc-ctype=C.UTF-8")
		}
	}
	start := time.Now()
	round := o.From
	for f.us.sent < o.Statements && (o.For == 0 || time.Since(start) < o.For) && f.failures < max(o.MaxFailures, 1) {
		if err := f.round(ctx, round); err != nil {
			return fmt.Errorf("round %d of seed %d: %w", round, o.Seed, err)
		}
		round++
	}
	took := time.Since(start)
	fmt.Fprintf(out, "%d statements in %d rounds, %.0f a second; %d failures\n", f.us.sent, round-o.From, float64(f.us.sent)/took.Seconds(), f.failures)
	for _, name := range slices.Sorted(maps.Keys(f.counts)) {
		fmt.Fprintf(out, "  %-28s %d\n", name, f.counts[name])
	}
	if f.failures > 0 {
		return fmt.Errorf("%d failures", f.failures)
	}
	return nil
}

// round is one schema and what is asked of it.
func (f *fuzzer) round(ctx context.Context, round int) error {
	g := &generator{r: rand.New(rand.NewPCG(f.o.Seed, uint64(round)))}
	if err := f.fresh(ctx, nil); err != nil {
		return err
	}
	var setup []string
	// change runs a statement that makes later ones what they are; the round ends
	// where the two sides have come apart.
	change := func(sql string) (bool, error) {
		t := trial{kind: "write", parts: []string{sql}, risky: g.risky, setup: setup, state: true}
		found, err := f.try(ctx, t)
		if err != nil || found.failure != "" || found.apart {
			return false, err
		}
		setup = append(setup[:len(setup):len(setup)], sql)
		return true, nil
	}
	for _, sql := range g.create() {
		if ok, err := change(sql); !ok {
			return err
		}
	}
	for range perRound {
		g.risky = g.chance(25)
		if g.chance(12) {
			if ok, err := change(g.write()); !ok {
				return err
			}
			if t := g.tables[g.r.IntN(len(g.tables))]; f.peer != nil {
				check := trial{kind: "peer", parts: []string{"SELECT * FROM " + t.name}, setup: setup}
				if found, err := f.try(ctx, check); err != nil || found.failure != "" {
					return err
				}
			}
			continue
		}
		t := g.trial(f.peer != nil)
		t.setup = setup
		if _, err := f.try(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// fresh makes an empty schema, and replays a set-up in it.
func (f *fuzzer) fresh(ctx context.Context, setup []string) error {
	for _, s := range []*server{f.us, f.peer} {
		if s == nil {
			continue
		}
		for _, sql := range append([]string{"DROP SCHEMA IF EXISTS sqlfuzz CASCADE", "CREATE SCHEMA sqlfuzz"}, setup...) {
			a, err := s.run(ctx, sql)
			if err != nil {
				return err
			}
			if a.failed() && len(setup) == 0 {
				return fmt.Errorf("%s: %s", sql, a.brief())
			}
		}
	}
	return nil
}

// try runs a trial, counts it, and reports and keeps a failure.
func (f *fuzzer) try(ctx context.Context, t trial) (finding, error) {
	found, err := f.judge(ctx, t)
	if err != nil {
		return found, err
	}
	f.counts[t.kind]++
	if found.code != "" {
		f.counts["error "+found.code]++
	}
	if found.allowed != "" {
		f.counts["allowed: "+found.allowed]++
	}
	if found.failure == "" {
		return found, nil
	}
	if found.signature != "" && f.seen[found.signature] {
		f.counts["again: "+found.signature]++
		return found, nil
	}
	f.seen[found.signature] = true
	return found, f.report(ctx, t, found)
}
