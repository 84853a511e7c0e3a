package node

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/cluster/admin"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/version"
)

// upgrade is what a node knows of an upgrade of its cluster.
type upgrade struct {
	raft *raftnode.Node
	runs func(node uint64) uint32 // the version that a node reported last; 0: none
	dir  *raftnode.Dir
	log  *slog.Logger
}

// record writes the cluster's version into the directory, so that no older program opens it.
func (u *upgrade) record(stop <-chan struct{}) {
	for {
		redefined := u.raft.Redefined()
		if err := u.dir.Finalize(u.raft.Current().Finalized()); err != nil {
			u.log.Error("the directory does not say the cluster's version", "err", err)
		}
		select {
		case <-stop:
			return
		case <-redefined:
		}
	}
}

// finalize finalises the upgrade by itself, while this node leads, when all members have run its version
// for as long as the cluster's setting says. Only time during which it has watched them counts.
func (u *upgrade) finalize(stop <-chan struct{}) {
	var agreed time.Duration
	for u.raft.Current().Finalized() < version.Binary {
		redefined := u.raft.Redefined()
		text, _ := u.raft.Current().Setting(admin.FinalizeSetting)
		ms, _ := strconv.ParseInt(text, 10, 64)
		after := time.Duration(ms) * time.Millisecond
		switch {
		case after == 0 || !u.raft.Leads() || !u.ready():
			agreed = 0
		case agreed >= after:
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			_, err := u.raft.Propose(ctx, []catalog.Change{&catalog.FinalizeVersion{Version: version.Binary}})
			cancel()
			u.log.Info("the upgrade is finalised by itself", "version", version.Binary, "err", err)
		}
		pause := min(max(after/4, 50*time.Millisecond), 10*time.Second)
		if after == 0 {
			pause = 10 * time.Second
		}
		select {
		case <-stop:
			return
		case <-redefined:
		case <-time.After(pause):
			agreed += pause
		}
	}
}

// ready reports whether the upgrade can be finalised: all members are up and run this program's version.
func (u *upgrade) ready() bool {
	st := u.raft.Current()
	for _, m := range st.Nodes() {
		if alive, _ := u.raft.Liveness(m.ID); !alive || u.runs(m.ID) < version.Binary {
			return false
		}
	}
	return st.Finalized() < version.Binary
}
