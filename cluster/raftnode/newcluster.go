package raftnode

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Found makes an empty directory that of the first node of a new cluster, whose catalog is the state that fill
// returns: fill also puts the node's files there. The node starts as one that was stopped. A directory of which this
// was cut off is refused at start. Without a secret the cluster gets a new one.
func Found(path string, log *slog.Logger, secret rpc.Secret, fill func(cluster catalog.ClusterID, node uint64) (*catalog.State, error)) (err error) {
	d, err := lockDir(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	entries, err := os.ReadDir(path)
	if err != nil {
		return dirError(err, path)
	}
	for _, e := range entries {
		if e.Name() != LockName {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "data directory %q is not empty", path).WithDetail("It has %q.", e.Name())
		}
	}
	d.is = newIdentity()
	d.ID = d.is.Node
	cluster := newClusterID()
	state, err := fill(cluster, d.ID)
	if err != nil {
		return err
	}
	if err := foundLog(d, log, state); err != nil {
		return err
	}
	if _, err := d.Secret(secret); err != nil {
		return err
	}
	d.is.Version = max(d.is.Version, state.Finalized())
	return d.become(member, cluster)
}

// foundLog makes a log that begins with a snapshot of a state.
func foundLog(d *Dir, log *slog.Logger, state *catalog.State) (err error) {
	st, err := openStores(d, newHlog(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.bolt.Close()) }()
	const term = 1
	_, trans := raft.NewInmemTransport("")
	// The address is what it will be when the node starts.
	only := raft.Configuration{Servers: []raft.Server{{ID: serverID(d.ID), Address: "127.0.0.1:0", Suffrage: raft.Voter}}}
	sink, err := st.snaps.Create(raft.SnapshotVersionMax, state.Version(), term, only, 1, trans)
	if err == nil {
		err = meta.Snapshot(state).Persist(sink)
	}
	if err == nil {
		err = st.bolt.SetUint64([]byte("CurrentTerm"), term)
	}
	if err != nil {
		return dirError(err, filepath.Join(d.Path, "raft"))
	}
	return nil
}
