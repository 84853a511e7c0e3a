package raftnode

import (
	"context"
	"crypto/rand"
	"errors"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// maxCommand bounds a commit's size in the log.
const maxCommand = 48 << 20

// The calls that raftnode answers.
const (
	callPropose   = "raft.propose"
	callReadIndex = "raft.readindex"
	callJoin      = "raft.join"
	callLeave     = "raft.leave"
	callPing      = "raft.ping"
)

// reply is the leader's answer to a forwarded proposal or read.
type reply struct {
	// NotLeader: try another node. Unsure: what was proposed may still be
	// committed; a retry with the same id is safe.
	NotLeader, Unsure bool
	Index             uint64
	Outcome           catalog.Outcome
}

// Propose commits changes: all or nothing, on a majority of the nodes' disks,
// applied on this node when it returns. An error with a code of the changes'
// own (a conflict, a name taken) means that nothing was applied. 40003 means
// that ctx ended before the outcome was known.
func (n *Node) Propose(ctx context.Context, changes []catalog.Change) (meta.Response, error) {
	var id meta.CommitID
	rand.Read(id[:])
	cmd := meta.EncodeCommit(id, changes)
	if len(cmd) > maxCommand {
		return meta.Response{}, pgerr.New(pgerr.ProgramLimitExceeded, "the transaction's catalog changes are too large (%d bytes)", len(cmd))
	}
	unsure := false
	var r reply
	err := n.atLeader(ctx, func(ctx context.Context, leader uint64) (again bool, err error) {
		if leader == n.o.Self.ID {
			r, err = n.proposeHere(ctx, cmd)
			if ctx.Err() != nil && err != nil {
				unsure = true
			}
		} else {
			var b []byte
			if b, err = n.peers.Action(ctx, leader, callPropose, cmd); err == nil {
				r, err = rpc.Decode[reply](b)
			} else if rpc.Unreachable(err) || ctx.Err() != nil {
				unsure = true
				return true, err
			}
		}
		unsure = unsure || r.Unsure
		return err == nil && (r.NotLeader || r.Unsure), err
	})
	if err == nil {
		err = n.fsm.WaitFor(ctx, r.Index)
		unsure = false // committed for certain
		if err != nil {
			return meta.Response{Index: r.Index, Outcome: r.Outcome}, err
		}
		return meta.Response{Index: r.Index, Outcome: r.Outcome}, nil
	}
	if unsure && ctx.Err() != nil {
		err = pgerr.Wrap(pgerr.StatementCompletionUnknown, ctx.Err(), "the outcome of the transaction is not known").
			WithDetail("The cluster did not confirm the commit in time.")
	}
	return meta.Response{}, err
}

// proposeHere appends a command to the log of the leader.
func (n *Node) proposeHere(ctx context.Context, cmd []byte) (reply, error) {
	f := n.raft.Apply(cmd, 5*time.Second)
	switch err := n.await(ctx, f); {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return reply{}, err
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return reply{NotLeader: true}, nil
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrAbortedByRestore):
		return reply{NotLeader: true, Unsure: true}, nil
	case errors.Is(err, raft.ErrRaftShutdown):
		return reply{NotLeader: true, Unsure: true}, nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return reply{}, pgerr.Wrap(pgerr.DiskFull, err, "could not write the commit to the log: No space left on device")
	default:
		return reply{}, pgerr.Wrap(pgerr.IOError, err, "could not write the commit to the log")
	}
	r := f.Response().(meta.Response)
	if r.Stopped {
		return reply{NotLeader: true, Unsure: true}, nil
	}
	return reply{Index: r.Index, Outcome: r.Outcome}, r.Err
}

// await waits for a future of raft's, or until ctx or the node ends: raft never
// answers futures that were queued when it shut down, and their waiters stay
// behind until the process ends.
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

// ReadIndex waits until this node's Current has all that was committed anywhere
// before the call.
func (n *Node) ReadIndex(ctx context.Context) error {
	var r reply
	err := n.atLeader(ctx, func(ctx context.Context, leader uint64) (again bool, err error) {
		if leader == n.o.Self.ID {
			r, err = n.readIndexHere(ctx)
		} else {
			var b []byte
			if b, err = n.peers.Action(ctx, leader, callReadIndex, nil); err == nil {
				r, err = rpc.Decode[reply](b)
			} else if rpc.Unreachable(err) {
				return true, err
			}
		}
		return err == nil && r.NotLeader, err
	})
	if err != nil {
		return err
	}
	return n.fsm.WaitFor(ctx, r.Index)
}

// readIndexHere gives the index up to which the leader answers for what is
// committed. Whatever was acknowledged had been applied by a leader before:
// by this one, or, by the barrier, before it led.
func (n *Node) readIndexHere(ctx context.Context) (reply, error) {
	if !n.leads.Load() {
		return reply{NotLeader: true}, nil
	}
	index := n.fsm.Applied()
	if err := n.await(ctx, n.raft.VerifyLeader()); err != nil {
		return reply{NotLeader: true}, nil
	}
	return reply{Index: index}, nil
}

// atLeader calls try with the leader until it succeeds, fails for good, or ctx
// ends.
func (n *Node) atLeader(ctx context.Context, try func(ctx context.Context, leader uint64) (again bool, err error)) error {
	wait := 5 * time.Millisecond
	var last error
	for {
		if err := ctx.Err(); err != nil {
			return noLeader(err, last)
		}
		if n.ctx.Err() != nil {
			return pgerr.New(pgerr.AdminShutdown, "the node is shutting down")
		}
		if leader := n.Leader(); leader != 0 {
			again, err := try(ctx, leader)
			if !again {
				return err
			}
			last = err
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
	s.RegisterAction(callPropose, func(ctx context.Context, cmd []byte) ([]byte, error) {
		r, err := n.proposeHere(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return rpc.Encode(r)
	})
	s.RegisterAction(callReadIndex, func(ctx context.Context, _ []byte) ([]byte, error) {
		r, err := n.readIndexHere(ctx)
		if err != nil {
			return nil, err
		}
		return rpc.Encode(r)
	})
	rpc.Handle(s, callJoin, n.handleJoin)
	rpc.Handle(s, callLeave, n.handleLeave)
	rpc.Handle(s, callPing, n.handlePing)
}
