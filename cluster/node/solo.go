package node

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// solo is the catalog of a cluster of one: the same state machine and the same
// durable log as in a larger one, with nobody to talk to.
type solo struct {
	fsm  *meta.FSM
	raft *raft.Raft
	log  *raftboltdb.BoltStore
}

const applyTimeout = 30 * time.Second

func openMeta(o Options) (metaStore, error) {
	dir := filepath.Join(o.Data, "raft")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	logs, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(dir, "log.db")})
	if err != nil {
		return nil, err
	}
	snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, hclog.NewNullLogger())
	if err != nil {
		return nil, errors.Join(err, logs.Close())
	}
	c := raft.DefaultConfig()
	c.LocalID = "1"
	c.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: io.Discard})
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = 200*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	c.CommitTimeout = 5 * time.Millisecond
	addr, trans := raft.NewInmemTransport("1")
	fsm := meta.New(o.Log)
	known, err := raft.HasExistingState(logs, logs, snaps)
	if err == nil && !known {
		err = raft.BootstrapCluster(c, logs, logs, snaps, trans, raft.Configuration{Servers: []raft.Server{{ID: "1", Address: addr}}})
	}
	if err != nil {
		return nil, errors.Join(err, logs.Close())
	}
	r, err := raft.NewRaft(c, fsm, logs, logs, snaps, trans)
	if err != nil {
		return nil, errors.Join(err, logs.Close())
	}
	s := &solo{fsm: fsm, raft: r, log: logs}
	if err := s.ready(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ready waits until this node leads and has applied its log.
func (s *solo) ready() error {
	deadline := time.After(applyTimeout)
	lead := s.raft.LeaderCh()
	for s.raft.State() != raft.Leader {
		select {
		case <-lead:
		case <-deadline:
			return pgerr.New(pgerr.CannotConnectNow, "the catalog did not start in %s", applyTimeout)
		}
	}
	return s.raft.Barrier(applyTimeout).Error()
}

// Current implements coord.Meta.
func (s *solo) Current() *catalog.State { return s.fsm.Current() }

// Barrier implements coord.Meta: what this node has applied is all there is.
func (s *solo) Barrier(context.Context) error { return nil }

func (s *solo) propose(changes []catalog.Change) (*catalog.Outcome, error) {
	var id meta.CommitID
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	f := s.raft.Apply(meta.EncodeCommit(id, changes), applyTimeout)
	if err := f.Error(); err != nil {
		return nil, pgerr.Wrap(pgerr.StatementCompletionUnknown, err, "the outcome of the commit is not known")
	}
	r, ok := f.Response().(meta.Response)
	if !ok {
		return nil, pgerr.Internal("the catalog answered %T", f.Response())
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return &r.Outcome, nil
}

// Commit implements coord.Meta.
func (s *solo) Commit(_ context.Context, changes []catalog.Change) error {
	_, err := s.propose(changes)
	return err
}

// AllocOIDs implements coord.Meta.
func (s *solo) AllocOIDs(_ context.Context, n int) (types.OID, error) {
	out, err := s.propose([]catalog.Change{&catalog.AllocOIDs{N: n}})
	if err != nil {
		return 0, err
	}
	return out.OIDs[0], nil
}

// Advance implements coord.Meta.
func (s *solo) Advance(_ context.Context, seq types.OID, n int64) (catalog.SeqRange, error) {
	out, err := s.propose([]catalog.Change{&catalog.AdvanceSequence{OID: seq, N: n}})
	if err != nil {
		return catalog.SeqRange{}, err
	}
	return out.Sequences[0], nil
}

// Close stops the catalog.
func (s *solo) Close() error {
	return errors.Join(s.raft.Shutdown().Error(), s.log.Close())
}
