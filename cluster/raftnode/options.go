package raftnode

import (
	"context"
	"log/slog"
	"time"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Options are the options of a Node.
type Options struct {
	Dir *Dir
	// Self describes the node for the catalog: name, cores, addresses. Self.ID
	// is set from Dir, Self.Addr is where other nodes reach this one.
	Self   catalog.Node
	Join   []string // members to ask for admission, where Dir waits for it
	Server *rpc.Server
	Dialer *rpc.Dialer
	Log    *slog.Logger

	// Heartbeat is how long a follower waits for the leader before it stands for election;
	// 0 is 1.5 s: long enough that heartbeats arrive in time on a busy machine, short
	// enough that statements wait for the next leader.
	Heartbeat time.Duration
	// Ping is how often members ping each other (0: 500 ms), DeadAfter how long one may be
	// silent (0: 3 s).
	Ping, DeadAfter time.Duration
	// ReplaceAfter is how long a voter may be dead before a member without a
	// vote takes its place; 0: 5 min.
	ReplaceAfter time.Duration

	// CommitTimeout is how long an idle follower, which neither asks nor is sent entries,
	// may lag behind the commit index; 0: 250 ms. It is told of changed definitions at once. Each update costs a message and an
	// answer per node: at 25 ms an idle cluster of three took 5 % of a processor.
	CommitTimeout time.Duration
	// Patience is how long to wait for the outcome of a commit that may be in a log, after
	// its statement was cancelled or its leader went away; 0: 10 s.
	Patience time.Duration
	// Snapshot is after how many commits a snapshot of the catalog is taken and the log
	// truncated; 0 is 8192. As many entries are kept for followers that lag.
	Snapshot uint64

	// Without turns deviations from raft off.
	Without Deviation

	// Recorder, if not nil, is told of each state that this node applies.
	Recorder meta.Recorder

	// OldestRead returns the version of the oldest state that a statement on this node
	// reads, 0 for none. Report returns bytes (memory, load) that other nodes get by
	// Node.Report. Both may be nil.
	OldestRead func() uint64
	Report     func() []byte
	// BeforeSecond, if not nil, is called before the cluster's only node, which this is,
	// admits a second one.
	BeforeSecond func(ctx context.Context) error
	// OnLead are run while the node leads, each in its own goroutine; they
	// return when ctx ends.
	OnLead []func(ctx context.Context)
}

// Validate checks the options and fills in defaults.
func (o *Options) Validate() error {
	switch {
	case o.Dir == nil || o.Server == nil || o.Dialer == nil:
		return pgerr.Internal("raftnode: incomplete options")
	}
	if err := checkAddr(o.Self.Addr); err != nil {
		return err
	}
	o.Self.ID = o.Dir.ID
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Heartbeat, 1500*time.Millisecond)
	def(&o.Ping, 500*time.Millisecond)
	def(&o.DeadAfter, 3*time.Second)
	def(&o.CommitTimeout, 250*time.Millisecond)
	def(&o.Patience, 10*time.Second)
	if o.Snapshot == 0 {
		o.Snapshot = 8192
	}
	def(&o.ReplaceAfter, 5*time.Minute)
	return nil
}
