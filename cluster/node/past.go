package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// openPast opens a node's history of the catalog, in a directory; end ends it, once nothing is applied any more. low reports whether
// a node has little disk space.
func openPast(dir string, pool *mem.Pool, log *slog.Logger, others past.Others, low func() bool) (h *past.History, end func(), err error) {
	h, err = past.Open(past.Options{Dir: filepath.Join(dir, "history"), Files: disk.OS, Pool: pool, Log: log, Others: others, Room: func() error {
		if low() {
			return pgerr.New(pgerr.DiskFull, "the disk of the data directory is nearly full")
		}
		return nil
	}})
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	return h, func() {
		stop()
		<-done
		h.Close()
	}, nil
}

// callPast asks a node for the past that another lacks: one that joined late, or whose history has a gap.
const callPast = "past.tell"

// silence is how long another node may be silent while it tells of the past.
const silence = 15 * time.Second

// askOthers asks the nodes that are alive. raft is called once statements run.
func askOthers(self uint64, raft func() *raftnode.Node) past.Others {
	return func(ctx context.Context, ticket []byte, take func(recv func() ([]byte, error)) error) error {
		err := error(pgerr.New(pgerr.SnapshotTooOld, "there is no other node"))
		for _, m := range raft().Current().Nodes() {
			if alive, _ := raft().Liveness(m.ID); m.ID == self || !alive {
				continue
			}
			if err = ask(ctx, raft().Peers(), m.ID, ticket, take); err == nil || ctx.Err() != nil {
				return err
			}
		}
		return err
	}
}

func ask(ctx context.Context, peers *rpc.Peers, node uint64, ticket []byte, take func(recv func() ([]byte, error)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	recv, err := peers.Get(ctx, node, callPast, ticket)
	if err != nil {
		return err
	}
	return take(func() ([]byte, error) {
		silent.Reset(silence)
		return recv()
	})
}

// forgetEvery is how often the leader looks whether something of the past is due to go, and how long it waits for the room that
// this makes.
const forgetEvery = time.Second

// expirePast has files go that are kept for the past alone, while this node leads: where nobody commits, by an empty commit; and
// where a node has little room, before their time, the oldest half first.
func expirePast(ctx context.Context, raft *raftnode.Node, log *slog.Logger, low func(node uint64) bool) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	var forgot time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := raft.Current()
		graves := s.Graves()
		var changes []catalog.Change
		short := func() bool {
			return slices.ContainsFunc(s.Nodes(), func(m *catalog.Node) bool { return low(m.ID) })
		}
		switch {
		case len(graves) == 0:
			continue
		case time.Since(forgot) > 5*forgetEvery && short():
			forgot = time.Now()
			until := graves[(len(graves)-1)/2].Left
			log.Warn("a disk is nearly full: files of the past are removed, the oldest first", "until", time.UnixMicro(until).UTC())
			changes = []catalog.Change{&catalog.ForgetPast{Micros: until}}
		case !s.GraveDue(time.Now()):
			continue
		}
		if _, err := raft.Propose(ctx, changes); err != nil {
			log.Debug("removing files of the past", "err", err)
		}
	}
}
