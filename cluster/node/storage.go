package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/storage"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// errNothingThere says that a storage has no cluster with which a node could begin.
var errNothingThere = errors.New("the storage has no cluster")

// foundOn makes an empty data directory that of the first node of a new cluster, which takes over the storage of an old one: with
// the catalog alone, as the files stay where they are.
func foundOn(ctx context.Context, place, data string, secret rpc.Secret, o storage.Options) error {
	if fresh, err := isFresh(data); err != nil || !fresh {
		return err
	}
	o.Pool = mem.NewPool("storage", 0)
	s := storage.New(o)
	err := raftnode.Found(data, o.Log, secret, func(cluster catalog.ClusterID, _ uint64) (*catalog.State, error) {
		state, err := s.TakeOver(ctx, place, cluster)
		if err == nil && state == nil {
			err = errNothingThere
		}
		if err == nil { // a part that a member's directory has
			err = os.MkdirAll(segmentsIn(data), 0o700)
		}
		return state, err
	})
	if errors.Is(err, errNothingThere) {
		return nil
	}
	return err
}

// isFresh reports whether a data directory has nothing, or is not there.
func isFresh(data string) (bool, error) {
	entries, err := os.ReadDir(data)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	for _, e := range entries {
		if e.Name() != raftnode.LockName {
			return false, nil
		}
	}
	return true, err
}

// beginStorage makes a place the storage of the node's cluster, unless it is.
func beginStorage(ctx context.Context, wanted string, s *storage.Storage, m raftMeta) error {
	for wanted != "" {
		st := m.Current()
		archive, _ := st.Setting(catalog.SettingArchive)
		switch place := catalog.Storage(st); {
		case place == wanted:
			return nil
		case place != "":
			return pgerr.New(pgerr.InvalidParameterValue, "the storage of this cluster is %q, not %q", place, wanted).
				WithHint("Every node has the same --storage, or none: those that join know it from the others.")
		case st.Finalized() < version.Binary:
			return version.NotFinalized("--storage")
		case archive != "" && archive != wanted:
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the archive of this cluster is in another place than --storage: %q", archive).
				WithHint("The storage is the archive too. Start without --storage, ALTER SYSTEM RESET archive, and start again.")
		}
		if err := s.Begin(ctx, wanted, st.Cluster()); err != nil {
			return err
		}
		err := m.Commit(ctx, []catalog.Change{
			&catalog.PutSetting{Name: catalog.SettingStorage, Value: wanted}, &catalog.PutSetting{Name: catalog.SettingArchive, Value: wanted}})
		if err != nil && !pgerr.Is(err, pgerr.SerializationFailure) {
			return err
		}
	}
	return nil
}

// releaseTime bounds how long a node that ends tries to give back its storage's lease.
const releaseTime = 2 * time.Second

// releaseStorage gives back the lease of the storage if no other node of the cluster is up, which would go on with it.
func releaseStorage(s *storage.Storage, raft *raftnode.Node, log *slog.Logger) {
	if !raft.Leads() {
		return
	}
	for _, m := range raft.Current().Nodes() {
		if alive, _ := raft.Liveness(m.ID); alive && m.ID != raft.ID() {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := s.Release(ctx); err != nil {
		log.Warn("the lease of the storage is not given back: another cluster waits until it has ended", "err", err)
	}
}

// segmentsIn is where a data directory has its files.
func segmentsIn(data string) string { return filepath.Join(data, "segments") }
