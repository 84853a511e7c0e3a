package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Survivor describes the cluster as the directory of a stopped member knows it.
type Survivor struct {
	Node        uint64
	Cluster     catalog.ClusterID
	Term, Index uint64   // those of the last entry of its log
	Members     []Server // the members of its raft configuration
}

// Server is a node of the raft configuration.
type Server struct {
	ID    uint64
	Addr  string
	Voter bool
}

// stopped is a member's directory opened without a node.
type stopped struct {
	*stores
	d    *Dir
	conf *raft.Config
	s    Survivor
}

func openStopped(path string, log *slog.Logger) (*stopped, error) {
	if _, err := os.Stat(filepath.Join(path, identityFile)); err != nil {
		return nil, dirError(err, path)
	}
	d, err := OpenDir(path, false)
	if err != nil {
		return nil, err
	}
	if d.standing() != member {
		d.Close()
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the node of data directory %q was not yet a member", path)
	}
	c := raft.DefaultConfig()
	c.LocalID, c.Logger = serverID(d.ID), newHlog(log)
	x := &stopped{d: d, conf: c, s: Survivor{Node: d.ID, Cluster: d.Identity().Cluster}}
	if x.stores, err = openStores(d, c.Logger); err != nil {
		d.Close()
		return nil, err
	}
	if err := x.survey(log); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *stopped) Close() error { return errors.Join(x.bolt.Close(), x.d.Close()) }

func (x *stopped) survey(log *slog.Logger) error {
	if list, err := x.snaps.List(); err != nil {
		return dirError(err, x.dir)
	} else if len(list) > 0 {
		x.s.Term, x.s.Index = list[0].Term, list[0].Index
	}
	last, err := x.logs.LastIndex()
	if err != nil {
		return dirError(err, x.dir)
	}
	if last > x.s.Index {
		var e raft.Log
		if err := x.logs.GetLog(last, &e); err != nil {
			return dirError(err, x.dir)
		}
		x.s.Term, x.s.Index = e.Term, last
	}
	if x.s.Index == 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the log in data directory %q is empty", x.d.Path)
	}
	_, trans := raft.NewInmemTransport("")
	conf, err := raft.GetConfiguration(x.conf, meta.New(log), x.logs, x.bolt, x.snaps, trans)
	if err != nil {
		return dirError(err, x.dir)
	}
	for _, s := range conf.Servers {
		x.s.Members = append(x.s.Members, Server{ID: nodeID(s.ID), Addr: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return nil
}

// Survey reads the directory of a stopped member.
func Survey(path string, log *slog.Logger) (Survivor, error) {
	x, err := openStopped(path, log)
	if err != nil {
		return Survivor{}, err
	}
	return x.s, x.Close()
}

// Recover makes the node of a directory the only voter of a cluster with a new id, for
// when a majority of the voters is lost for good. Commits that this node had not yet
// received are lost; entries that it had received and that were never acknowledged
// count as committed. Members of the old cluster are refused by the new one, so that
// the two cannot both continue as the same cluster; see Rejoin.
func Recover(path string, log *slog.Logger) (err error) {
	x, err := openStopped(path, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	addr := ""
	for _, m := range x.s.Members {
		if m.ID == x.d.ID {
			addr = m.Addr
		}
	}
	if addr == "" {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the node of data directory %q takes no part in its cluster's log", path)
	}
	_, trans := raft.NewInmemTransport("")
	f := replayFSM{meta.New(log), newClusterID()}
	only := raft.Configuration{Servers: []raft.Server{{ID: x.conf.LocalID, Address: raft.ServerAddress(addr), Suffrage: raft.Voter}}}
	conf := *x.conf
	if err := raft.RecoverCluster(&conf, f, x.logs, x.bolt, x.snaps, trans, only); err != nil {
		return pgerr.Wrap(pgerr.IOError, err, "could not recover data directory %q", path)
	}
	return x.d.become(member, f.id)
}

// replayFSM is the state machine with which Recover replays the log.
type replayFSM struct {
	*meta.FSM
	id catalog.ClusterID
}

// Snapshot implements raft.FSM.
func (f replayFSM) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.ChangeClusterID(f.id); err != nil {
		return nil, err
	}
	return f.FSM.Snapshot()
}

// Rejoin moves the log of a directory aside and makes its node ask for admission again,
// under the same id and with its segments. It is for the other survivors once one was
// recovered.
func Rejoin(path string, log *slog.Logger) error {
	x, err := openStopped(path, log)
	if err != nil {
		return err
	}
	if err := x.bolt.Close(); err != nil {
		return errors.Join(dirError(err, path), x.d.Close())
	}
	// The order matters: after a crash at any point the directory is that of a member with
	// its log, one that is refused at start, or one that asks for admission.
	if err := os.Remove(filepath.Join(path, marksFile)); err != nil && !errors.Is(err, fs.ErrNotExist) { // they are the old log's
		return errors.Join(dirError(err, path), x.d.Close())
	}
	aside := filepath.Join(path, fmt.Sprintf("raft.lost-%d", time.Now().Unix()))
	if err := os.Rename(x.dir, aside); err != nil {
		return errors.Join(dirError(err, path), x.d.Close())
	}
	return errors.Join(x.d.become(joining, catalog.ClusterID{}), x.d.Close())
}
