package raftnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fakeLog is a log, its state machine, and the network to it.
type fakeLog struct {
	mu   sync.Mutex
	fsm  *meta.FSM
	last uint64
	held [][]byte // copies of commands in transit
}

func newFakeLog() *fakeLog { return &fakeLog{fsm: meta.New(slog.New(slog.DiscardHandler))} }

func (l *fakeLog) append(cmd []byte) reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	r := l.fsm.Apply(&raft.Log{Index: l.last, Type: raft.LogCommand, Data: cmd}).(meta.Response)
	out := reply{Index: r.Index, Outcome: r.Outcome, Ended: r.Ended}
	if r.Err != nil {
		out.Refused = pgerr.From(r.Err)
	}
	return out
}

func (l *fakeLog) hold(cmd []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, cmd)
}

// arrive delivers the copy of a command that has been in transit longest; it returns false if there is
// none.
func (l *fakeLog) arrive() bool {
	l.mu.Lock()
	if len(l.held) == 0 {
		l.mu.Unlock()
		return false
	}
	cmd := l.held[0]
	l.held = l.held[1:]
	l.mu.Unlock()
	l.append(cmd)
	return true
}

var errLost = errors.New("the connection is gone")

// proposer makes a proposer that sends its commands by deliver.
func (l *fakeLog) proposer(gateway uint64, deliver func(ctx context.Context, cmd []byte) (reply, error)) *proposer {
	return &proposer{ctx: context.Background(), box: newOutbox(gateway, time.Unix(1000, 0)), patience: 2 * time.Millisecond, applied: l.fsm.Applied, waitFor: l.fsm.WaitFor,
		here:    func(meta.Command) (reply, bool) { return reply{}, false },
		deliver: func(ctx context.Context, _ uint64, cmd meta.Command) (reply, error) { return deliver(ctx, cmd.Bytes) },
		atLeader: func(ctx context.Context, try func(context.Context, uint64) (bool, error)) error {
			for {
				if err := ctx.Err(); err != nil {
					return noLeader(err, nil)
				}
				if again, err := try(ctx, 1); !again {
					return err
				}
				runtime.Gosched()
			}
		}}
}

// once is a commit of which one can count how often it was applied: it creates a schema of this name
// and allocates an OID.
func once(name string) []catalog.Change {
	return []catalog.Change{&catalog.PutSetting{Name: name, Value: "1"}, &catalog.AllocOIDs{N: 1}}
}

func (l *fakeLog) has(name string) bool {
	_, ok := l.fsm.Current().Setting(name)
	return ok
}

// TestOutcomeAtEachPoint ends the caller's context, or loses a message, at each point of a proposal.
func TestOutcomeAtEachPoint(t *testing.T) {
	for _, x := range []struct {
		name    string
		deliver func(l *fakeLog, end func(), cmd []byte, try int) (reply, error)
		code    pgerr.Code // "" for success
		there   bool
	}{
		{"ends before it is sent", nil, pgerr.QueryCanceled, false},
		{"ends while it is applied", func(l *fakeLog, end func(), cmd []byte, _ int) (reply, error) {
			end()
			return l.append(cmd), nil
		}, "", true},
		{"ends, and there is another leader", func(l *fakeLog, end func(), _ []byte, _ int) (reply, error) {
			end()
			return reply{NotLeader: true}, nil
		}, pgerr.QueryCanceled, false},
		{"the answer is lost once", func(l *fakeLog, _ func(), cmd []byte, try int) (reply, error) {
			if r := l.append(cmd); try > 1 {
				return r, nil
			}
			return reply{}, errLost
		}, "", true},
		{"the answer is lost always", func(l *fakeLog, _ func(), cmd []byte, _ int) (reply, error) {
			l.append(cmd)
			return reply{}, errLost
		}, pgerr.StatementCompletionUnknown, true},
		{"the answer is lost and the caller goes", func(l *fakeLog, end func(), cmd []byte, _ int) (reply, error) {
			l.append(cmd)
			end()
			return reply{}, context.Canceled
		}, pgerr.StatementCompletionUnknown, true},
		{"the leader ends while it waits", func(l *fakeLog, _ func(), cmd []byte, try int) (reply, error) {
			if r := l.append(cmd); try > 1 {
				return r, nil
			}
			return reply{NotLeader: true, Unsure: true}, nil
		}, "", true},
		{"its disk is full", func(l *fakeLog, _ func(), _ []byte, _ int) (reply, error) {
			return reply{Unlogged: pgerr.New(pgerr.DiskFull, "full")}, nil
		}, pgerr.DiskFull, false},
		{"its disk is full the second time", func(l *fakeLog, _ func(), cmd []byte, try int) (reply, error) {
			if try > 1 {
				return reply{Unlogged: pgerr.New(pgerr.DiskFull, "full")}, nil
			}
			l.append(cmd)
			return reply{}, errLost
		}, pgerr.StatementCompletionUnknown, true},
		{"the machine's error comes late", func(l *fakeLog, _ func(), cmd []byte, try int) (reply, error) {
			if try > 1 {
				return l.append(cmd), nil
			}
			l.append(meta.EncodeCommit(meta.CommitID{Gateway: 9, Epoch: 1, Seq: 1, Mark: 1}, []catalog.Change{&catalog.PutSetting{Name: "other", Value: "1"}}))
			return reply{}, errLost
		}, "", true},
	} {
		outcome := func(t *testing.T, alone bool) {
			l := newFakeLog()
			ctx, end := context.WithCancel(context.Background())
			defer end()
			tries := 0
			deliver := func(_ context.Context, cmd []byte) (reply, error) {
				tries++
				return x.deliver(l, end, cmd, tries)
			}
			p := l.proposer(1, deliver)
			p.here = func(cmd meta.Command) (reply, bool) {
				if !alone {
					return reply{}, false
				}
				r, err := deliver(ctx, cmd.Bytes)
				if err != nil {
					r = reply{NotLeader: true, Unsure: true}
				}
				return r, true
			}
			if x.deliver == nil {
				end()
			}
			r, err := p.propose(ctx, once("x"))
			if pgerr.CodeOf(err) != x.code || l.has("x") != x.there {
				t.Fatal(err, l.has("x"))
			}
			if err == nil && (len(r.Outcome.OIDs) != 1 || l.fsm.Current().NextOID() != r.Outcome.OIDs[0]+1) {
				t.Fatal("applied more than once", r)
			}
			if x.code == pgerr.StatementCompletionUnknown && errors.Is(err, context.Canceled) {
				t.Fatal("an unknown outcome is not a cancel")
			}
			if alone && err == nil && tries == 1 && len(p.box.open) > 0 {
				t.Fatal("the commit is open still")
			}
		}
		t.Run(x.name, func(t *testing.T) { outcome(t, false) })
		t.Run(x.name+", alone", func(t *testing.T) { outcome(t, true) })
	}
}

// TestCommittedButNotAppliedHere: a command that is in the log is reported as committed even if this
// node has not applied it yet.
func TestCommittedButNotAppliedHere(t *testing.T) {
	l := newFakeLog()
	ctx, end := context.WithCancel(context.Background())
	p := l.proposer(1, func(_ context.Context, cmd []byte) (reply, error) { return l.append(cmd), nil })
	p.waitFor = func(ctx context.Context, _ uint64) error {
		end()
		<-ctx.Done()
		return ctx.Err()
	}
	if _, err := p.propose(ctx, once("x")); err != nil || !l.has("x") {
		t.Fatal(err)
	}
}

// TestConflictIsOfTheFirstAttempt: a conflict, after which a gateway retries
// its statement, is never reported for a copy of a command that was applied.
func TestConflictIsOfTheFirstAttempt(t *testing.T) {
	l := newFakeLog()
	l.append(meta.EncodeCommit(meta.CommitID{Gateway: 9, Epoch: 1, Seq: 1, Mark: 1}, []catalog.Change{&catalog.PutSchema{Schema: &catalog.Schema{OID: 20000, Name: "s"}}}))
	drop := []catalog.Change{&catalog.DropSchema{OID: 20000}} // applied a second time it is a conflict
	tries := 0
	p := l.proposer(1, func(_ context.Context, cmd []byte) (reply, error) {
		r := l.append(cmd)
		if tries++; tries > 1 {
			return r, nil
		}
		// More commits than the number of results that are kept.
		for i := range uint64(20000) {
			l.append(meta.EncodeCommit(meta.CommitID{Gateway: 9, Epoch: 1, Seq: i + 2, Mark: i + 2}, []catalog.Change{&catalog.PutSetting{Name: "n", Value: "1"}}))
		}
		return reply{}, errLost
	})
	p.patience = time.Minute
	if _, err := p.propose(context.Background(), drop); err != nil {
		t.Fatal(err)
	}
}

// TestRandomOutcomes compares the reported outcomes of proposals with the log under all faults at
// once: lost requests and answers, delayed copies, callers that stop waiting, and gateways that
// restart with their clocks set back.
func TestRandomOutcomes(t *testing.T) {
	for seed := range uint64(30) {
		l := newFakeLog()
		start := l.fsm.Current().NextOID()
		var mu sync.Mutex
		rnd := rand.New(rand.NewPCG(seed, 1))
		roll := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return rnd.IntN(n)
		}
		var want sync.Map // name → nil, or the error
		var wg sync.WaitGroup
		live := func(gateway uint64, life int) {
			ends := make(chan func(), 1)
			p := l.proposer(gateway, func(_ context.Context, cmd []byte) (reply, error) {
				switch roll(10) {
				case 0:
					return reply{}, errLost // the request is lost
				case 1:
					l.append(cmd) // the answer is lost
					return reply{}, errLost
				case 2:
					l.hold(cmd)
					return reply{}, errLost
				case 3:
					l.append(cmd)
					return reply{NotLeader: true, Unsure: true}, nil
				case 4:
					return reply{NotLeader: true}, nil
				case 5:
					select {
					case end := <-ends:
						end()
					default:
					}
				case 6:
					l.arrive()
				}
				return l.append(cmd), nil
			})
			p.box = newOutbox(gateway, time.Unix(int64(1000-life), 0))
			for p.box.inDoubt() { // as a starting node does: see fence
				_, _ = p.propose(context.Background(), nil)
			}
			p.patience = time.Duration(roll(3)) * 100 * time.Microsecond
			var threads sync.WaitGroup
			for thread := range 3 {
				threads.Go(func() {
					for i := range 20 {
						name := fmt.Sprint(gateway, "/", life, "/", thread, "/", i)
						ctx, end := context.WithCancel(context.Background())
						select {
						case ends <- end:
						default:
						}
						ch := once(name)
						if i%5 == 4 {
							ch = append(ch, &catalog.DropSchema{OID: 99999})
						}
						_, err := p.propose(ctx, ch)
						end()
						want.Store(name, err)
					}
				})
			}
			threads.Wait()
		}
		for gateway := range uint64(3) {
			wg.Go(func() {
				for life := range 3 {
					live(gateway, life)
				}
			})
		}
		wg.Wait()
		for l.arrive() {
		}
		applied := 0
		want.Range(func(k, v any) bool {
			name := k.(string)
			err, _ := v.(error)
			there := l.has(name)
			if there {
				applied++
			}
			switch {
			case pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown:
			case there != (err == nil):
				t.Errorf("seed %d: %s came to %v, and applied is %t", seed, name, err, there)
			}
			return true
		})
		if got := int(l.fsm.Current().NextOID() - start); got != applied {
			t.Fatalf("seed %d: %d commits were applied, and %d times", seed, applied, got)
		}
	}
}

// TestDoubtEnds: when the answer to a commit is lost, the answer to a later commit says whether it was
// applied, and so whether its files are garbage.
func TestDoubtEnds(t *testing.T) {
	l := newFakeLog()
	lose := true
	p := l.proposer(1, func(_ context.Context, cmd []byte) (reply, error) {
		if lose {
			l.hold(cmd)
			return reply{}, errLost
		}
		return l.append(cmd), nil
	})
	if !p.box.inDoubt() {
		t.Fatal("nothing is known of an earlier life yet")
	}
	if _, err := p.propose(context.Background(), once("x")); !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		t.Fatal(err)
	}
	lose = false
	if !p.box.inDoubt() {
		t.Fatal("no doubt")
	}
	if _, err := p.propose(context.Background(), nil); err != nil || p.box.inDoubt() {
		t.Fatal("doubt stays", err)
	}
	for l.arrive() {
	}
	if l.has("x") {
		t.Fatal("applied after all")
	}
}

// TestRemovedGateway: a node that was removed from the cluster cannot commit
// until it has joined again.
func TestRemovedGateway(t *testing.T) {
	l := newFakeLog()
	direct := func(_ context.Context, cmd []byte) (reply, error) { return l.append(cmd), nil }
	p := l.proposer(1, direct)
	if _, err := p.propose(context.Background(), once("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.proposer(2, direct).propose(context.Background(), []catalog.Change{
		&catalog.PutNode{Node: &catalog.Node{ID: 1, Name: "n"}}, &catalog.DropNode{ID: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.propose(context.Background(), once("b")); !pgerr.Is(err, pgerr.AdminShutdown) || l.has("b") {
		t.Fatal(err)
	}
	if _, err := l.proposer(1, direct).propose(context.Background(), once("c")); err != nil || !l.has("c") {
		t.Fatal(err)
	}
}
