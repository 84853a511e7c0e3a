package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// Dir is a node's data directory, locked by this process.
type Dir struct {
	Path string
	ID   uint64 // the node's id: random, made with the directory
	// Reserve is disk space kept for the log; nil for none.
	Reserve *disk.Reserve
	lock    *os.File

	mu sync.Mutex
	is identity
}

// LockName is the file that the process of a data directory holds locked.
const LockName = "LOCK"

// logFile holds raft's log and votes, within the directory.
const logFile = "raft/log.db"

// OpenDir locks a data directory. An empty one becomes a new node's: with join, of one
// that waits for admission to a cluster; without, of one that makes a cluster of its
// own. A directory with a member, or parts of one, is never initialised again: a member
// has its log and the named parts (folders), or it is refused.
func OpenDir(path string, join bool, parts ...string) (*Dir, error) {
	d, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	if err := d.open(join, append([]string{logFile}, parts...)); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// lockDir locks a directory, making it if it is not there.
func lockDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, dirError(err, path)
	}
	file := filepath.Join(path, LockName)
	lock, err := disk.Lock(file)
	if errors.Is(err, disk.ErrLocked) {
		return nil, pgerr.Wrap(pgerr.ObjectInUse, err, "data directory is used by another process (lock file %q)", file)
	}
	if err != nil {
		return nil, dirError(err, file)
	}
	return &Dir{Path: path, lock: lock}, nil
}

func (d *Dir) open(join bool, parts []string) error {
	old, err := readIdentity(filepath.Join(d.Path, identityFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, p := range append([]string{"node-id"}, parts...) {
			if there, err := d.has(p); err != nil {
				return err
			} else if there {
				return pgerr.New(pgerr.DataCorrupted, "data directory %q has %q but no %q", d.Path, p, identityFile).
					WithHint("Put the file back, from a copy of the directory. If it is lost, keep the directory aside and start the node with an empty one and --join.")
			}
		}
		d.is = newIdentity()
	case err != nil:
		return err
	default:
		d.is = old
	}
	d.ID = d.is.Node
	switch d.is.Standing {
	case removed:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the node of data directory %q was removed from its cluster", d.Path).
			WithHint("To be a member again it starts with an empty directory and --join.")
	case member:
		for _, p := range parts {
			if there, err := d.has(p); err != nil {
				return err
			} else if !there {
				return pgerr.New(pgerr.DataCorrupted, "data directory %q is a member's, but its %q is gone", d.Path, p).
					WithDetail("Without it the node would forget what it has agreed to.").
					WithHint("Put it back as it was when the node last ran; an older copy is refused. If it is lost and the other nodes are up, keep the directory aside, start the node " +
						"under another name with an empty one and --join, and decommission the old name. Never start an empty directory without --join: that makes another cluster.")
			}
		}
		return nil
	case joining:
		if !join {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the node of data directory %q waits for admission to a cluster", d.Path).
				WithHint("Give --join with the address of a member. To make a cluster of its own, start with an empty directory.")
		}
		return nil
	case founding:
		// Nothing has been acknowledged to anybody yet.
		if there, err := d.has(logFile); err != nil || there && !d.is.Cluster.IsZero() {
			return err
		}
	}
	if join {
		return d.become(joining, catalog.ClusterID{})
	}
	return d.become(founding, newClusterID())
}

func (d *Dir) has(part string) (bool, error) {
	_, err := os.Stat(filepath.Join(d.Path, filepath.FromSlash(part)))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err == nil, nil
	}
	return false, dirError(err, d.Path)
}

// Identity returns the node's identity; it is an rpc.Self.
func (d *Dir) Identity() rpc.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return rpc.Identity{Cluster: d.is.Cluster, Node: d.is.Node, Version: version.Binary, Least: max(version.Oldest, d.is.Version)}
}

// become changes the node's membership.
func (d *Dir) become(s membership, c catalog.ClusterID) error {
	return d.change(func(i *identity) { i.Standing, i.Cluster = s, c })
}

// Finalize raises the version that a program must have to open the directory, and to talk to this node.
func (d *Dir) Finalize(version uint32) error {
	return d.change(func(i *identity) { i.Version = max(i.Version, version) })
}

// change changes the identity, on disk before in memory.
func (d *Dir) change(with func(*identity)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.is
	if with(&next); next == d.is {
		return nil
	}
	if err := next.write(filepath.Join(d.Path, identityFile)); err != nil {
		return dirError(err, d.Path)
	}
	d.is = next
	return nil
}

func (d *Dir) standing() membership {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.is.Standing
}

// held returns an error when the directory is not this process's any more: it was
// removed, and perhaps another process has made one of the same path, whose files this
// one would take for its own that nobody needs. PostgreSQL's postmaster ends likewise.
func (d *Dir) held() error {
	ours, err := d.lock.Stat()
	if err != nil {
		return dirError(err, d.Path)
	}
	now, err := os.Stat(filepath.Join(d.Path, LockName))
	if err == nil && os.SameFile(ours, now) {
		return nil
	}
	return pgerr.New(pgerr.IOError, "data directory %q was removed or replaced while the server ran: its lock file is not the one that the server holds", d.Path)
}

// Close releases the lock.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

func dirError(err error, path string) error {
	var known *pgerr.Error
	if errors.As(err, &known) {
		return err
	}
	return disk.Error(err, fmt.Sprintf("could not use data directory %q", path))
}
