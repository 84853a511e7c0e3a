package raftnode

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// stores are raft's part of a directory.
type stores struct {
	dir   string
	bolt  *raftboltdb.BoltStore // log and votes
	logs  raft.LogStore         // bolt behind a cache
	snaps raft.SnapshotStore
}

func openStores(d *Dir, log hclog.Logger) (*stores, error) {
	st := &stores{dir: filepath.Join(d.Path, "raft")}
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return nil, dirError(err, st.dir)
	}
	var err error
	st.bolt, err = raftboltdb.New(raftboltdb.Options{Path: filepath.Join(d.Path, logFile), BoltOptions: &bbolt.Options{
		Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}})
	if err != nil {
		return nil, dirError(err, st.dir)
	}
	if err = st.owner(d); err == nil {
		st.logs, err = raft.NewLogCache(1024, st.bolt)
	}
	if err == nil {
		st.snaps, err = raft.NewFileSnapshotStoreWithLogger(st.dir, 2, log)
	}
	if err != nil {
		st.bolt.Close()
		var e *pgerr.Error
		if !errors.As(err, &e) {
			err = dirError(err, st.dir)
		}
		return nil, err
	}
	return st, nil
}

// ownerKey is where the log says whose it is: a log and votes that were put
// under another node would speak for two.
var ownerKey = []byte("tributary-node")

func (st *stores) owner(d *Dir) error {
	id, err := st.bolt.GetUint64(ownerKey)
	switch {
	case errors.Is(err, raftboltdb.ErrKeyNotFound):
		return st.bolt.SetUint64(ownerKey, d.ID)
	case err == nil && id != d.ID:
		return pgerr.New(pgerr.DataCorrupted, "the log in data directory %q is node %x's, the directory node %x's", d.Path, id, d.ID).
			WithHint("Put the directory's own parts back together.")
	}
	return err
}
