package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options are the options of a run. Without a Peer the server is compared with itself.
type Options struct {
	DSN, Peer   string
	Statements  int           // sent to the server, at least
	For         time.Duration // no round begins after it; 0 is no limit
	Seed        uint64
	Profile     string   // what statements are made of, a name of profiles; empty is general
	From        int      // the first round
	Connections int      // rounds at once, each on a connection and in a schema of its own
	Cases       string   // directory for failing statements and how far the run got; empty keeps none
	Resume      bool     // from where a run of this seed with these Cases got to
	Allow       []string // SQLSTATEs of the server that are counted, not failures
	MaxFailures int      // after which the run ends
}

// every is how many statements lie between lines of progress.
const every = 10000

// campaign is one run: rounds, distributed to workers, and their outcomes.
type campaign struct {
	o Options
	profile
	out io.Writer

	mu       sync.Mutex
	next     int // round to distribute
	total    tally
	early    map[int]tally // of rounds that ended before an earlier one
	reported int           // statements at the last line of progress
	failures int
	seen     map[string]bool
	start    time.Time
	resumed  int // statements of the run that this one resumes
}

// Run sends random statements and reports to out. The error says that there
// were failures, or that the run could not go on.
func Run(ctx context.Context, o Options, out io.Writer) error {
	c := &campaign{o: o, out: out, next: o.From, early: map[int]tally{}, seen: map[string]bool{}, start: time.Now()}
	c.total.Round = o.From
	if o.Resume {
		if err := c.load(); err != nil {
			return err
		}
	}
	p, err := o.profile()
	if err != nil {
		return err
	}
	c.profile = p
	workers := make([]*worker, max(o.Connections, 1))
	for i := range workers {
		w, err := c.worker(ctx, fmt.Sprintf("sqlfuzz%d", i))
		if err != nil {
			return err
		}
		defer w.close()
		workers[i] = w
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(workers))
	var wait sync.WaitGroup
	for i, w := range workers {
		wait.Go(func() {
			if errs[i] = w.rounds(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	wait.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summary()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if n := c.total.Differences + c.total.Internal + c.total.Deaths; n > 0 {
		return fmt.Errorf("%d failures", n)
	}
	return nil
}

// distribute returns the next round, unless the run is over.
func (c *campaign) distribute() (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total.Statements >= c.o.Statements || c.o.For != 0 && time.Since(c.start) >= c.o.For || c.failures >= max(c.o.MaxFailures, 1) {
		return 0, false
	}
	c.next++
	return c.next - 1, true
}

// ended adds a round's tally, in the order of rounds, so that a run that is
// resumed counts each round once.
func (c *campaign) ended(round int, t tally) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.early[round] = t
	for {
		t, ok := c.early[c.total.Round]
		if !ok {
			break
		}
		delete(c.early, c.total.Round)
		c.total.add(t)
		c.total.Round++
	}
	if c.total.Statements/every == c.reported/every {
		return nil
	}
	c.reported = c.total.Statements
	fmt.Fprintf(c.out, "%d statements, %.0f a second, %d failures, round %d\n", c.total.Statements, c.rate(), c.failures, c.total.Round)
	return c.save()
}

func (c *campaign) rate() float64 {
	return float64(c.total.Statements-c.resumed) / time.Since(c.start).Seconds()
}

// first reports whether a failure is the first of its signature.
func (c *campaign) first(signature string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if signature != "" && c.seen[signature] {
		return false
	}
	c.seen[signature] = true
	return true
}

// keep prints a failure and writes it as a case file.
func (c *campaign) keep(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures++
	fmt.Fprintf(c.out, "\n%s", text)
	return c.write(fmt.Sprintf("%s-%d.sql", c.o.label(), c.failures), []byte(text))
}

func (c *campaign) write(name string, data []byte) error {
	if c.o.Cases == "" {
		return nil
	}
	if err := os.MkdirAll(c.o.Cases, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.o.Cases, name), data, 0o644)
}
