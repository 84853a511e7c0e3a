package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the options of a run.
type Options struct {
	Program string // the binary
	// Before, if not "", is a binary of the version before: clusters begin with it.
	Before string
	// Storage has clusters keep their files in a bucket, from which an empty node goes on at their end.
	Storage bool
	Serve   []string // more flags of its serve command, after those that speed up its background work
	Dir     string   // a directory of the run's own
	Seed    uint64
	From    int // the first round
	Rounds  int
	For     time.Duration // no round begins later; 0: no limit
	Nodes   int
	Faults  []string // kinds among Faults
	Always  []string // kinds that each round has, beside those
	// Fresh is how many rounds a cluster serves, Stretch how many at most share a
	// check.
	Fresh, Stretch int
	Verbose        bool // a line a round, not one for ten
	// KeepGoing continues with a new cluster after a failure.
	KeepGoing bool
}

func (o Options) has(kind string) bool {
	return slices.Contains(o.Faults, kind) || slices.Contains(o.Always, kind)
}

// Validate checks the options.
func (o Options) Validate() error {
	if o.Nodes < 1 || o.Rounds < 0 || o.From < 0 || o.Fresh < 1 || o.Stretch < 1 || o.Stretch > maxStretch {
		return fmt.Errorf("nodes and fresh are at least 1, rounds and from at least 0, and a stretch is 1 to %d", maxStretch)
	}
	if len(o.Faults) == 0 {
		return errors.New("there is nothing to do without faults")
	}
	if o.has("version") != (o.Before != "") {
		return errors.New("faults of versions need a binary of the version before, and it them")
	}
	if o.Storage && (o.Before != "" || !(o.has("backup") || o.has("restore") || o.has("store"))) {
		return errors.New("a storage is compared by faults of backups, restores and stores, and the version before knows none")
	}
	for _, f := range slices.Concat(o.Faults, o.Always) {
		if !slices.Contains(Faults, f) {
			return fmt.Errorf("there is no fault %q; there are %s", f, strings.Join(Faults, ", "))
		}
	}
	return nil
}

// maxStretch bounds Options.Stretch.
const maxStretch = 8

// Failure is a violated guarantee.
type Failure struct {
	From, Round int // the rounds that the check is of
	What        []string
	Dir         string // logs and data
}

func (f *Failure) Error() string {
	return fmt.Sprintf("rounds %d to %d:\n  %s\n  kept in %s", f.From, f.Round, strings.Join(f.What, "\n  "), f.Dir)
}

// run is a run under way.
type run struct {
	o      Options
	out    io.Writer
	began  time.Time
	tally  tally
	rounds map[string]int // by kind and variant
	// restored counts backups that were made, and restores that were compared with the history.
	restored map[string]int
	done     int
	spoilt   int64
	failed   []*Failure
}

// Run carries out rounds and writes a line for each. Its error is the first Failure, or
// what prevented it from continuing.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	r := &run{o: o, out: out, began: time.Now(), rounds: map[string]int{}, restored: map[string]int{}, tally: tally{count: map[string]*[3]int{}, codes: map[string]int{}}}
	round := o.From
	var err error
	for round < o.From+o.Rounds && err == nil && !r.over() {
		// Rounds share clusters by their number, so that a partial run uses new clusters at
		// the same rounds as the whole run.
		end := min(o.From+o.Rounds, (round/o.Fresh+1)*o.Fresh)
		var f *Failure
		round, f, err = r.generation(ctx, round, end)
		if f != nil {
			r.failed = append(r.failed, f)
			fmt.Fprintf(out, "FAILED %v\n", f)
			fmt.Fprintf(out, "  again: --seed %d --from %d --rounds %d --nodes %d --fresh %d --stretch %d --faults %s --always '%s'\n", o.Seed, max(o.From, f.Round/o.Fresh*o.Fresh),
				f.Round-max(o.From, f.Round/o.Fresh*o.Fresh)+1, o.Nodes, o.Fresh, o.Stretch, strings.Join(o.Faults, ","), strings.Join(o.Always, ","))
			if !o.KeepGoing {
				break
			}
		}
	}
	r.summary(time.Since(r.began))
	if err == nil && len(r.failed) > 0 {
		err = r.failed[0]
	}
	return err
}

// over reports whether the time is up.
func (r *run) over() bool { return r.o.For > 0 && time.Since(r.began) > r.o.For }

// generation runs rounds on a new cluster; it returns the next round.
func (r *run) generation(ctx context.Context, from, to int) (next int, failure *Failure, err error) {
	dir := filepath.Join(r.o.Dir, fmt.Sprintf("cluster-%d", from))
	if err := os.MkdirAll(r.o.Dir, 0o700); err != nil {
		return from, nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // the directory of another run must not be reused
		return from, nil, err
	}
	var mu sync.Mutex
	var told []string
	report := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if len(told) < 20 {
			told = append(told, fmt.Sprintf(format, args...))
		}
	}
	broken := func(from, round int) *Failure {
		mu.Lock()
		defer mu.Unlock()
		if len(told) == 0 {
			return nil
		}
		return &Failure{From: from, Round: round, What: told, Dir: dir}
	}
	c, err := startCluster(ctx, r.o, from, dir, report)
	if err != nil {
		return from, nil, err
	}
	defer func() {
		c.close()
		err = errors.Join(err, c.remove(failure != nil || err != nil))
	}()
	work := workloads(c)
	s := r.session(c, source(r.o.Seed, from, "setup"), "setup", 0)
	s.limit = patience
	for _, w := range work {
		if err := w.setup(ctx, s); err != nil {
			return from, nil, err
		}
	}
	s.drop()
	defer func() {
		r.spoilt += c.spoilt.Load()
		if c.backups != nil {
			for k, n := range c.backups.done {
				r.restored[k] += n
			}
		}
	}()
	for round := from; round < to; {
		if err := ctx.Err(); err != nil || r.over() {
			return round, nil, err
		}
		next := r.stretch(ctx, c, work, round, to, report)
		if err := ctx.Err(); err != nil {
			return round, nil, err // the violations reported are due to the end of the run
		}
		if f := broken(round, next-1); f != nil {
			c.dump()
			return next, f, nil
		}
		round = next
	}
	if r.o.Storage {
		err := c.backups.lost(ctx)
		if ctx.Err() != nil {
			return to, nil, ctx.Err()
		}
		if err == nil {
			err = c.schemas.judgeAll(c.backups.taken())
		}
		if err != nil {
			report("the storage of a cluster that is lost: %v", err)
		}
	}
	return to, broken(from, to-1), nil
}

func (r *run) session(c *cluster, random *rand.Rand, name string, fixed int) *session {
	return &session{c: c, t: &r.tally, name: name, r: random, fixed: fixed, limit: opTimeout}
}

func (r *run) plan(round int) plan {
	return makePlan(r.o.Seed, round, r.o.Nodes, r.o.Faults, r.o.Always...)
}

// stretch runs consecutive rounds while clients go on, and then the checks; it returns
// the next round. Where files are to be damaged all must be intact before, and are
// repaired before anything else happens.
func (r *run) stretch(ctx context.Context, c *cluster, work []workload, from, to int, report func(string, ...any)) (next int) {
	alive, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	for _, w := range work {
		for i, f := range w.clients() {
			clients.Go(func() {
				s := r.session(c, source(r.o.Seed, from, fmt.Sprint(w.name(), i)), w.name(), -1)
				defer s.drop()
				f(alive, s)
			})
		}
	}
	for next = from; ; {
		r.round(ctx, c, work, next, report)
		next++
		if next == to || next%r.o.Stretch == 0 || r.plan(next-1).damages() || r.plan(next).damages() || ctx.Err() != nil || r.over() {
			break
		}
	}
	wait(ctx, 200*time.Millisecond) // keep some load on the recovering cluster
	stop()
	clients.Wait()
	began := time.Now()
	c.note("check")
	r.check(ctx, c, work, report)
	if r.o.Verbose {
		fmt.Fprintf(r.out, "check of %d to %d: %.1f s\n", from, next-1, time.Since(began).Seconds())
	}
	return next
}

// round runs one round and reports what goes wrong.
func (r *run) round(ctx context.Context, c *cluster, work []workload, round int, report func(string, ...any)) {
	p := r.plan(round)
	began := time.Now()
	before := r.tally.totals()
	c.note("round %d: %s", round, p)
	for _, f := range p {
		r.rounds[f.kind+" "+f.variant]++
	}
	if len(p) == 0 {
		r.rounds["nothing"]++
	}
	for _, w := range work {
		if t, ok := w.(turner); ok {
			t.turn()
		}
	}
	c.flipped.Store(p.damages())
	c.afflict(ctx, p)
	if len(p) == 0 {
		wait(ctx, 300*time.Millisecond)
	}
	if err := c.heal(ctx); err != nil {
		report("healing: %v", err)
	}
	r.done++
	if r.o.Verbose {
		fmt.Fprintf(r.out, "round %d: %s; %.1f s; %s\n", round, p, time.Since(began).Seconds(), since(before, r.tally.totals()))
	} else if r.done%10 == 0 {
		took := time.Since(r.began)
		fmt.Fprintf(r.out, "%d rounds in %s, %.2f s each, %d failed; %s\n", r.done, took.Round(time.Second), took.Seconds()/float64(r.done), len(r.failed), r.tally.sum())
	}
}

// check runs all checks, once all nodes are back.
func (r *run) check(ctx context.Context, c *cluster, work []workload, report func(string, ...any)) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	var each []*session
	for i := range c.nodes {
		s := r.session(c, source(r.o.Seed, i, "check"), "check", i)
		defer s.drop()
		each = append(each, s)
	}
	err := c.ready(ctx, each)
	if err == nil {
		err = c.idle(ctx, each)
	}
	if err == nil {
		err = c.settled(ctx)
	}
	if err != nil {
		report("%v", err)
		return
	}
	for _, w := range work {
		for i, s := range each {
			if err := w.check(ctx, s, i == 0); err != nil {
				report("%s, asking %s: %v", w.name(), c.nodes[i].name, err)
			}
		}
		w.endRound()
	}
	if err := c.replicas(ctx, each[0]); err != nil {
		report("%v", err)
	}
	if err := c.leftovers(ctx, each[0]); err != nil {
		report("%v", err)
	}
}

// totals returns a copy of the counts.
func (t *tally) totals() map[string][3]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string][3]int{}
	for k, v := range t.count {
		out[k] = *v
	}
	return out
}

// since returns a text of the numbers of acknowledged, refused and unknown operations
// by workload.
func since(before, after map[string][3]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if k == "setup" || k == "check" {
			continue
		}
		a, b := after[k], before[k]
		out = append(out, fmt.Sprintf("%s %d/%d/%d", k, a[0]-b[0], a[1]-b[1], a[2]-b[2]))
	}
	return strings.Join(out, " ")
}

// sum returns a text of the outcomes of all operations.
func (t *tally) sum() string {
	var all [3]int
	for name, n := range t.totals() {
		if name != "setup" && name != "check" {
			for i := range all {
				all[i] += n[i]
			}
		}
	}
	return fmt.Sprintf("%d operations: %d acknowledged, %d refused, %d unknown", all[0]+all[1]+all[2], all[acked], all[refused], all[unknown])
}

func (r *run) summary(took time.Duration) {
	fmt.Fprintf(r.out, "\n%d rounds in %s, %d failed; %s\n", r.done, took.Round(time.Second), len(r.failed), r.tally.sum())
	fmt.Fprintf(r.out, "acknowledged/refused/unknown: %s; %d temporary files damaged\n", since(nil, r.tally.totals()), r.spoilt)
	for _, part := range []struct {
		title  string
		counts map[string]int
	}{{"faults", r.rounds}, {"backups, and restores that were compared", r.restored}, {"answers that were errors", r.tally.codes}} {
		var s []string
		for _, k := range slices.Sorted(maps.Keys(part.counts)) {
			s = append(s, fmt.Sprintf("%s %d", k, part.counts[k]))
		}
		fmt.Fprintf(r.out, "%s: %s\n", part.title, strings.Join(s, ", "))
	}
}

// lastLines returns the last lines of a text.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-n):], "\n    ")
}
