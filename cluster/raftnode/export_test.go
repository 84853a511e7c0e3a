package raftnode

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// LoseReads makes the next n read requests to the leader fail as if they had timed out. No
// request may be in progress.
func (n *Node) LoseReads(times int64) {
	call, left := n.proposals.asks.call, &atomic.Int64{}
	left.Store(times)
	n.proposals.asks.call = func() (reply, error) {
		switch k := left.Add(-1); {
		case k < 0:
			return call()
		case k%2 == 0:
			return reply{}, context.DeadlineExceeded
		}
		return reply{}, pgerr.From(context.DeadlineExceeded) // as the leader encodes it
	}
}

// Delayed takes a snapshot on the leader and returns what delivers it to a node, when that is called.
func (n *Node) Delayed() (deliver func(to *Node) error, err error) {
	f := n.raft.Snapshot()
	if err := f.Error(); err != nil {
		return nil, err
	}
	meta, from, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	state, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	req := raft.InstallSnapshotRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(serverID(n.ID())), Addr: []byte(n.o.Self.Addr)}, SnapshotVersion: meta.Version, Term: n.raft.CurrentTerm(),
		LastLogIndex: meta.Index, LastLogTerm: meta.Term, Configuration: raft.EncodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex, Size: meta.Size,
	}
	return func(to *Node) error {
		var resp raft.InstallSnapshotResponse
		return n.trans.InstallSnapshot(serverID(to.ID()), raft.ServerAddress(to.o.Self.Addr), &req, &resp, bytes.NewReader(state))
	}, nil
}
