package raftnode

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// stores are raft's part of a directory.
type stores struct {
	dir   string
	bolt  *journal // log and votes
	logs  *cached  // bolt behind a cache
	snaps raft.SnapshotStore
	marks *marks
}

func openStores(d *Dir, log hclog.Logger) (*stores, error) {
	st := &stores{dir: filepath.Join(d.Path, "raft")}
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return nil, dirError(err, st.dir)
	}
	var err error
	if st.snaps, err = raft.NewFileSnapshotStoreWithLogger(st.dir, 2, log); err != nil {
		return nil, dirError(err, st.dir)
	}
	list, err := st.snaps.List()
	if err != nil {
		return nil, dirError(err, st.dir)
	}
	l, err := openLog(filepath.Join(d.Path, logFile), d.Reserve, newestSnapshot(st.snaps, list))
	if err != nil {
		return nil, err
	}
	if st.bolt, err = openJournal(filepath.Join(d.Path, journalFile), l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err = st.owner(d); err == nil {
		st.logs, err = newCached(st.bolt)
	}
	if err == nil {
		err = checkSnapshots(st.dir, st.snaps, l)
	}
	if err == nil {
		var last uint64
		if last, err = st.bolt.LastIndex(); err == nil {
			st.marks, err = openMarks(d, st.bolt, max(last, newestSnapshot(st.snaps, list)))
		}
	}
	if err != nil {
		st.bolt.Close()
		return nil, dirError(err, st.dir)
	}
	removeUnfinished(st.dir, log)
	return st, nil
}

// ownerKey is the key of the node's id in the log: with a log and votes copied from
// another node, one node would vote for two.
var ownerKey = []byte("tributary-node")

func (st *stores) owner(d *Dir) error {
	id, err := st.bolt.GetUint64(ownerKey)
	switch {
	case errors.Is(err, errNoKey):
		return st.bolt.SetUint64(ownerKey, d.ID)
	case err == nil && id != d.ID:
		return pgerr.New(pgerr.DataCorrupted, "the log in data directory %q is node %x's, the directory node %x's", d.Path, id, d.ID).
			WithHint("Put the directory's own parts back together.")
	}
	return err
}
