package raftnode

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// proposals are the node's commits and reads, at the leader or as the leader.
type proposals struct {
	*Node
	proposer *proposer
	batcher  *batcher
	asks     coalescer[reply] // a follower's requests to the leader
	verified coalescer[reply] // proofs that this node leads
}

// maxCommand bounds a commit's size in the log.
const maxCommand = 48 << 20

// The RPCs that raftnode serves.
const (
	callPropose   = "raft.propose"
	callProposals = "raft.proposals"
	callReadIndex = "raft.readindex"
	callJoin      = "raft.join"
	callLeave     = "raft.leave"
	callPing      = "raft.ping"
	callLastWord  = "raft.last-word"
	callGreet     = "raft.greet"
	callRenew     = "raft.renew"
)

// reply is the leader's answer to a forwarded proposal or read.
type reply struct {
	// NotLeader: try another node. Unsure: the proposal may still be committed; a retry
	// with the same id is safe.
	NotLeader, Unsure bool
	Index             uint64
	Outcome           catalog.Outcome
	Ended             uint64 // as in meta.Response
	// The log is committed up to entry Committed, of term Term, if that is not 0: a
	// follower may pass this on to its raft (commits.go).
	Term, Committed uint64
	// Refused is why the changes were not applied and never will be; Unlogged is why the
	// command is in no log.
	Refused, Unlogged *pgerr.Error
	Lock              advisory.Result
}

// known reports whether the command's outcome is known.
func (r *reply) known() bool { return !r.NotLeader && !r.Unsure && r.Unlogged == nil }

// Propose commits changes: all or nothing, on a majority of the nodes' disks, applied
// on this node when it returns, if that can be soon. An error of 40003 means that their
// outcome is unknown; after any other error nothing was applied and nothing will be,
// even if a copy is still in flight.
//
// Once a log may have the changes, the end of ctx no longer ends the wait at once, but
// after Options.Patience.
func (n *Node) Propose(ctx context.Context, changes []catalog.Change) (meta.Response, error) {
	if err := n.fsm.Allows(changes); err != nil {
		return meta.Response{}, err
	}
	return n.metrics.timed(func() (meta.Response, error) { return n.proposals.proposer.propose(ctx, changes) })
}

// Lock commits changes together with operations on advisory locks, as Propose does.
func (n *Node) Lock(ctx context.Context, changes []catalog.Change, ops []advisory.Op) (advisory.Result, error) {
	if err := n.fsm.Allows(changes); err != nil {
		return advisory.Result{}, err
	}
	r, err := n.metrics.timed(func() (meta.Response, error) { return n.proposals.proposer.propose(ctx, changes, ops...) })
	return r.Lock, err
}

// Locks calls look with this node's copy of the advisory locks, which look only reads.
func (n *Node) Locks(look func(*advisory.Table)) { n.fsm.Locks(look) }

// InDoubt reports whether a commit that this node proposed, in this epoch or an earlier
// one, may still be applied although nobody waits for it.
func (n *Node) InDoubt() bool { return n.proposals.proposer.box.inDoubt() }

// fence resolves commits in doubt by proposing commits without changes.
func (n *proposals) fence() {
	for {
		for n.InDoubt() {
			if _, err := n.proposer.propose(n.ctx, nil); err == nil {
				continue
			}
			select {
			case <-time.After(time.Second):
			case <-n.ctx.Done():
				return
			}
		}
		select {
		case <-n.proposer.box.wake:
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *proposals) newProposer() *proposer {
	return &proposer{ctx: n.ctx, box: newOutbox(n.o.Self.ID, time.Now()), atLeader: n.atLeader, applied: n.fsm.Applied, waitFor: n.fsm.WaitFor, patience: n.o.Patience,
		here: func(cmd meta.Command) (reply, bool) {
			if n.Leader() != n.o.Self.ID {
				return reply{}, false
			}
			return n.proposeAlone(cmd)
		},
		deliver: func(ctx context.Context, leader uint64, cmd meta.Command) (reply, error) {
			if leader == n.o.Self.ID {
				return n.proposeHere(ctx, cmd), nil
			}
			return n.batcher.do(ctx, leader, cmd.Bytes)
		}}
}

func (n *proposals) newBatcher() *batcher {
	return &batcher{ctx: n.ctx, spawn: n.goFunc,
		alone: func(ctx context.Context, leader uint64, cmd []byte) (reply, error) {
			b, err := n.peers.Action(ctx, leader, callPropose, cmd)
			if err != nil {
				return reply{}, err
			}
			return n.answer(b)
		},
		all: func(ctx context.Context, leader uint64, cmds [][]byte) ([]reply, error) {
			b, err := n.peers.Action(ctx, leader, callProposals, codec.Marshal(cmds))
			if err != nil {
				return nil, err
			}
			list, err := codec.Unmarshal[[]reply](b)
			for _, r := range list {
				n.deviations.learn(r.Term, r.Committed)
			}
			return list, err
		}}
}

// answer decodes a leader's reply and records the commit index in it.
func (n *proposals) answer(b []byte) (reply, error) {
	r, err := codec.Unmarshal[reply](b)
	if err == nil {
		n.deviations.learn(r.Term, r.Committed)
	}
	return r, err
}

// proposeHere appends a command to the log of the leader.
func (n *proposals) proposeHere(ctx context.Context, cmd meta.Command) reply {
	r, ok := n.proposeAlone(cmd)
	if !ok {
		r = n.throughRaft(ctx, [][]byte{cmd.Bytes})[0]
	}
	return r
}

// proposeAll appends commands to the log of the leader.
func (n *proposals) proposeAll(ctx context.Context, cmds [][]byte) []reply {
	out := make([]reply, len(cmds))
	var at []int
	var through [][]byte
	for i, b := range cmds {
		cmd, err := meta.ReadCommand(b)
		if err != nil {
			out[i] = reply{Unlogged: pgerr.From(err)}
			continue
		}
		var ok bool
		if out[i], ok = n.proposeAlone(cmd); !ok {
			at, through = append(at, i), append(through, b)
		}
	}
	if len(through) > 0 {
		for k, r := range n.throughRaft(ctx, through) {
			out[at[k]] = r
		}
	}
	return out
}

// proposeAlone is proposeHere for a single member, and also reports a full disk; ok is
// false where the command must go through raft.
func (n *proposals) proposeAlone(cmd meta.Command) (r reply, ok bool) {
	if err := n.o.Dir.Reserve.Room(); err != nil && cmd.AddsRows() {
		return reply{Unlogged: pgerr.From(err)}, true
	}
	term := n.raft.CurrentTerm()
	a, err, ok := n.deviations.propose(cmd)
	if !ok {
		return reply{}, false
	}
	return n.replyTo(term, a, err), true
}

// replyTo returns the reply for a command that was proposed in a term.
func (n *proposals) replyTo(term uint64, a meta.Answer, err error) reply {
	switch {
	case err == nil:
	case errors.Is(err, errNotLed), errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return reply{NotLeader: true}
	case disk.Full(err):
		// The log's file grows before the page that makes the entry part of the log is
		// written: the entry is in no log.
		return reply{Unlogged: pgerr.From(err)}
	default:
		// Leadership was lost, the node is shutting down, ctx has ended or a disk failed: the
		// entry may be in this log or in others.
		n.o.Log.Debug("a proposal is not answered", "err", err)
		return reply{NotLeader: true, Unsure: true}
	}
	r := a.Response
	if r.Stopped {
		return reply{NotLeader: true, Unsure: true}
	}
	out := reply{Index: r.Index, Outcome: r.Outcome, Ended: r.Ended, Lock: r.Lock}
	if term == n.raft.CurrentTerm() {
		out.Term, out.Committed = term, a.At
	}
	if r.Err != nil {
		out.Refused = pgerr.From(r.Err)
	}
	return out
}

// throughRaft proposes commands through raft: all before it waits for one, so that raft writes them together.
func (n *proposals) throughRaft(ctx context.Context, cmds [][]byte) []reply {
	out := make([]reply, len(cmds))
	term := n.raft.CurrentTerm()
	resume := n.deviations.pause()
	if n.ctx.Err() != nil {
		resume(false)
		for i := range out { // raft may not have been given all earlier entries
			out[i] = n.replyTo(term, meta.Answer{}, raft.ErrRaftShutdown)
		}
		return out
	}
	answers, futures := make([]<-chan meta.Answer, len(cmds)), make([]raft.ApplyFuture, len(cmds))
	for i, cmd := range cmds {
		answer, forget := n.fsm.Expect(cmd)
		defer forget()
		answers[i], futures[i] = answer, n.raft.Apply(cmd, enqueueTime)
	}
	known := true
	for i := range cmds {
		a, err := n.answered(ctx, futures[i], answers[i])
		known = known && (err == nil || ctx.Err() == nil && n.ctx.Err() == nil)
		out[i] = n.replyTo(term, a, err)
	}
	resume(known)
	return out
}

// enqueueTime is how long raft may take to accept a command.
const enqueueTime = 5 * time.Second

// answerTime is how long to wait for the state machine's answer only, before waiting
// for raft's too, which comes where the log does not accept the command.
const answerTime = 20 * time.Millisecond

// answered waits for the outcome of a command.
func (n *proposals) answered(ctx context.Context, f raft.ApplyFuture, answer <-chan meta.Answer) (meta.Answer, error) {
	t := time.NewTimer(answerTime)
	defer t.Stop()
	select {
	case a := <-answer:
		return a, nil
	case <-t.C:
	case <-ctx.Done():
	case <-n.ctx.Done():
	}
	if err := n.await(ctx, f); err != nil {
		return meta.Answer{}, err
	}
	select {
	case a := <-answer: // it came before raft's, which has no result where earlyApplier applied the command
		return a, nil
	default:
		return meta.Answer{Response: f.Response().(meta.Response), At: f.Index()}, nil
	}
}

// await waits for a future of raft's, or until ctx or the node ends: raft never answers
// futures that were queued when it shut down, and their goroutines stay until the
// process ends.
func (n *Node) await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-n.ctx.Done():
		return raft.ErrRaftShutdown
	}
}

// ReadIndex waits until this node's Current has all that was committed anywhere before
// the call. It returns 57P03 when no leader has confirmed that in time.
func (n *Node) ReadIndex(ctx context.Context) error {
	if r, ok := n.proposals.alone(); ok {
		return n.fsm.WaitFor(ctx, r.Index)
	}
	in, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	var r reply
	err := n.proposals.atLeader(in, func(in context.Context, leader uint64) (retry bool, err error) {
		// A leader that hangs is asked again, or its successor.
		one, cancel := context.WithTimeout(in, readTime)
		defer cancel()
		if leader == n.o.Self.ID {
			r, err = n.proposals.readIndexHere(one)
		} else {
			r, err = n.proposals.asks.do(one)
		}
		// A timeout of the leader, or of those who share this call, says nothing about this
		// caller's time.
		retry = err == nil && r.NotLeader || rpc.Unreachable(err) || one.Err() != nil ||
			errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		return retry && in.Err() == nil, err
	})
	if err == nil {
		err = n.fsm.WaitFor(in, r.Index)
		if full := n.o.Dir.Reserve.Room(); err != nil && full != nil && ctx.Err() == nil {
			return full // the leader answers, but this node's log has no room for what was committed
		}
	}
	if in.Err() != nil && ctx.Err() == nil && err != nil {
		n.pinger.live.gaveUp(time.Now())
		err = noLeader(in.Err(), err)
	}
	return err
}

// Leaderless reports whether this node has known no leader for some time.
func (n *Node) Leaderless() bool { return n.pinger.live.leaderless(time.Now()) }

// leaderTime is how long a call waits for a leader to be found, readTime how long a
// leader may take to confirm a read before it is asked again.
const (
	leaderTime = 4500 * time.Millisecond
	readTime   = 2 * time.Second
)

// askLeader asks the leader for the commit index, with one request for all waiters on
// this node.
func (n *proposals) askLeader() (reply, error) {
	ctx, cancel := context.WithTimeout(n.ctx, readTime)
	defer cancel()
	leader := n.Leader()
	if leader == 0 || leader == n.o.Self.ID {
		return reply{NotLeader: true}, nil
	}
	b, err := n.peers.Action(ctx, leader, callReadIndex, nil)
	if err != nil {
		return reply{}, err
	}
	return n.answer(b)
}

// readIndexHere returns the commit index, which this node confirms as the leader.
func (n *proposals) readIndexHere(ctx context.Context) (reply, error) {
	if !n.leads.Load() {
		return reply{NotLeader: true}, nil
	}
	return n.verified.do(ctx)
}

// alone returns the commit index where this node is the only voter: nobody else can
// lead without its vote, which it would cast only in a later term.
func (n *proposals) alone() (reply, bool) {
	if !n.leads.Load() || n.fsm.Err() != nil {
		return reply{}, false
	}
	term := n.term.Load()
	r := n.committed(term)
	return r, n.deviations.alone(term) && n.raft.State() == raft.Leader && n.raft.CurrentTerm() == term && n.leads.Load()
}

// committed returns the commit index, if this node leads in a term.
func (n *proposals) committed(term uint64) reply {
	// Another node may have applied, and shown, entries that this one has committed and
	// not applied yet. Entries that never reach the state machine, such as barriers, are
	// from before it led: WaitFor could wait for ever for their index.
	index, ledFrom := n.raft.CommitIndex(), n.ledFrom.Load()
	if index > ledFrom {
		// What a single voter has applied is committed, whether raft knows it yet or not.
		return reply{Index: max(index, n.fsm.Applied()), Term: term, Committed: index}
	}
	return reply{Index: n.fsm.Applied(), Term: term, Committed: ledFrom}
}

// verify proves that this node leads, and returns what was committed before.
func (n *proposals) verify() (reply, error) {
	term := n.raft.CurrentTerm()
	r := n.committed(term)
	ctx, cancel := context.WithTimeout(n.ctx, readTime)
	defer cancel()
	if err := n.await(ctx, n.raft.VerifyLeader()); err != nil || term != n.term.Load() || term != n.raft.CurrentTerm() {
		return reply{NotLeader: true}, nil
	}
	return r, nil
}

// atLeader calls try with the leader until it succeeds, fails for good, or ctx ends; or
// returns 57P03 when no leader is found for some time.
func (n *proposals) atLeader(ctx context.Context, try func(ctx context.Context, leader uint64) (retry bool, err error)) error {
	wait := 5 * time.Millisecond
	give := time.Now().Add(leaderTime)
	var last error
	for {
		if err := ctx.Err(); err != nil {
			return noLeader(err, last)
		}
		if n.ctx.Err() != nil {
			return pgerr.New(pgerr.AdminShutdown, "the node is shutting down")
		}
		if leader := n.Leader(); leader != 0 {
			retry, err := try(ctx, leader)
			if !retry {
				return err
			}
			last = err
		}
		if last == nil && time.Now().After(give) {
			n.pinger.live.gaveUp(time.Now())
			return noLeader(context.DeadlineExceeded, last)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		case <-n.ctx.Done():
		}
		wait = min(wait*2, 100*time.Millisecond)
	}
}

func noLeader(err, last error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	e := pgerr.Wrap(pgerr.CannotConnectNow, errors.Join(err, last), "the cluster has no leader that this node can reach")
	return e.WithHint("A majority of the cluster's voting nodes must be running and connected.")
}

func (n *Node) register() {
	s := n.o.Server
	s.RegisterAction(callPropose, func(ctx context.Context, b []byte) ([]byte, error) {
		cmd, err := meta.ReadCommand(b)
		if err != nil {
			return codec.Marshal(reply{Unlogged: pgerr.From(err)}), nil
		}
		return codec.Marshal(n.proposals.proposeHere(ctx, cmd)), nil
	})
	s.RegisterAction(callProposals, func(ctx context.Context, b []byte) ([]byte, error) {
		cmds, err := codec.Unmarshal[[][]byte](b)
		if err != nil {
			return nil, err
		}
		return codec.Marshal(n.proposals.proposeAll(ctx, cmds)), nil
	})
	s.RegisterAction(callReadIndex, func(ctx context.Context, _ []byte) ([]byte, error) {
		r, err := n.proposals.readIndexHere(ctx)
		if err != nil {
			return nil, err
		}
		return codec.Marshal(r), nil
	})
	s.RegisterAction(callRedefined, func(ctx context.Context, _ []byte) ([]byte, error) { return nil, n.ReadIndex(ctx) })
	rpc.Handle(s, callRenew, n.leases.handleRenew)
	rpc.Handle(s, callJoin, n.admission.handleJoin)
	rpc.Handle(s, callLeave, n.admission.handleLeave)
	rpc.Handle(s, callPing, n.pinger.handlePing)
	rpc.Handle(s, callLastWord, n.keeper.handleLastWord)
	rpc.Handle(s, callGreet, n.admission.handleDialBack)
	s.Guests(callJoin, callGreet)
}
