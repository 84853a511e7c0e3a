package storage

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Options are those of a Storage. Life alone may be zero.
type Options struct {
	Catalog func() *catalog.State // not asked before the node has one
	Pool    *mem.Pool
	Log     *slog.Logger
	Life    time.Duration // of the lease; 0: 30 s
}

// Storage reads and writes the cluster's storage. It is reached with the credentials of the node, so that a node can start with
// nothing else. Its methods may be called from any goroutine.
type Storage struct {
	o      Options
	stores *object.Stores
}

// New makes one. It does nothing by itself.
func New(o Options) *Storage {
	o.Life = cmp.Or(o.Life, leaseLife)
	return &Storage{o, object.NewStores(nil, object.Keys{}, nil)}
}

// Place checks the URI of a storage, and returns its canonical form.
func Place(uri string) (string, error) {
	path, err := backup.Path(uri)
	if err == nil && !object.Remote(path) {
		err = pgerr.Unsupported("a storage in %q is not supported", uri).WithHint("Give s3://bucket/prefix.")
	}
	return path, err
}

// Store opens a place with the credentials of the node.
func (s *Storage) Store(place string) (object.Store, error) { return s.stores.For(0, place, true) }

func (s *Storage) leaser(place string) (object.Leaser, error) {
	o, err := s.Store(place)
	if err != nil {
		return nil, err
	}
	l, ok := o.(object.Leaser)
	if !ok {
		return nil, pgerr.Internal("%q has no leases", place)
	}
	return l, nil
}

// block is how many bytes of a file are asked for at once, leastBlock where memory is short.
const block, leastBlock = 4 << 20, 256 << 10

// Get implements repl.Bucket.
func (s *Storage) Get(ctx context.Context, f *catalog.Segment) (recv func() ([]byte, error), done func(), err error) {
	place := catalog.Storage(s.o.Catalog())
	if place == "" {
		return nil, nil, &store.CorruptError{Segment: f.ID, Missing: true}
	}
	o, err := s.Store(place)
	if err != nil {
		return nil, nil, err
	}
	info, err := o.Stat(ctx, backup.FileIn(place, f.ID))
	if pgerr.Is(err, pgerr.UndefinedFile) {
		return nil, nil, &store.CorruptError{Segment: f.ID, Missing: true}
	}
	if err != nil {
		return nil, nil, err
	}
	acct := s.o.Pool.Account("files of the storage", false)
	buf := min(info.Size, block)
	if !acct.Try(buf) {
		buf = min(buf, leastBlock)
		if err := acct.Grow(buf); err != nil {
			acct.Close()
			return nil, nil, err
		}
	}
	file, err := o.Open(ctx, info)
	if err != nil {
		acct.Close()
		return nil, nil, err
	}
	at, b := int64(0), make([]byte, buf)
	recv = func() ([]byte, error) {
		if at >= info.Size {
			return nil, io.EOF
		}
		n, err := file.ReadAt(b[:min(int64(len(b)), info.Size-at)], at)
		at += int64(n)
		if err != nil && err != io.EOF {
			return nil, err
		}
		return b[:n], nil
	}
	return recv, func() {
		_ = file.Close()
		acct.Close()
	}, nil
}

// open opens a place, or makes it one of backups. done gives back what is charged.
func (s *Storage) open(ctx context.Context, place string, write bool) (*backup.Dir, object.Leaser, func(), error) {
	l, err := s.leaser(place)
	if err != nil {
		return nil, nil, nil, err
	}
	dir, done, err := backup.WriteIn(ctx, l.(object.Store), place, write, s.o.Pool)
	return dir, l, done, err
}

// Begin makes a place the storage of a cluster, unless it is; there is none, or it is the cluster's archive.
func (s *Storage) Begin(ctx context.Context, place string, cluster catalog.ClusterID) (err error) {
	dir, l, done, err := s.open(ctx, place, true)
	if err != nil {
		return err
	}
	defer done()
	if backup.Stored(dir, cluster) {
		return nil
	}
	other := func() error {
		if owner, _ := dir.Owner(); !owner.IsZero() && owner != cluster {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%q is the storage or the archive of another cluster", place).
				WithHint("A node with an empty directory takes it over with all that is there. This cluster needs another place.")
		}
		return nil
	}
	if err := other(); err != nil {
		return err
	}
	ended, err := s.await(ctx, l, place, cluster)
	if err != nil {
		return err
	}
	return locked(dir, func() error {
		if err := other(); err != nil { // it was read anew
			return err
		}
		number, err := s.take(ctx, l, place, cluster, 0, ended)
		if err != nil {
			return err
		}
		return backup.Own(dir, cluster, number)
	})
}

// TakeOver makes the storage, or the archive, of another cluster that of a new one, and returns the state with which that
// begins: the last one that is there. It is nil where there is no cluster to take over.
func (s *Storage) TakeOver(ctx context.Context, place string, cluster catalog.ClusterID) (state *catalog.State, err error) {
	dir, l, done, err := s.open(ctx, place, false)
	if pgerr.Is(err, pgerr.UndefinedFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer done()
	if owner, _ := dir.Owner(); owner.IsZero() {
		return nil, nil
	}
	ended, err := s.await(ctx, l, place, cluster)
	if err != nil {
		return nil, err
	}
	err = locked(dir, func() error {
		_, last := dir.Owner()
		number, err := s.take(ctx, l, place, cluster, last, ended)
		if err != nil {
			return err
		}
		// All that the old owner has written by now is read; what it writes from now on it does not acknowledge.
		b, err := dir.Choose(ctx, "", time.Time{}, dir.Read, nil, func(backup.Head) bool { return true })
		if err == nil {
			state, err = b.Catalog()
		}
		if err != nil { // nothing is written yet: the old owner may go on
			owner, _ := dir.Owner()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
			defer cancel()
			return errors.Join(err, s.giveBack(last, l, place, cluster, owner))
		}
		catalog.Refound(state, cluster, catalog.Bucket)
		catalog.OnStorage(state, place)
		return backup.TakeOver(ctx, dir, cluster, number, state)
	})
	return state, err
}

// giveBackTime bounds how long it is tried to give back a lease after a start that failed.
const giveBackTime = 10 * time.Second

// locked calls use while nobody else makes a backup there.
func locked(dir *backup.Dir, use func() error) error {
	unlock, err := dir.Lock()
	if err != nil {
		return err
	}
	err = use()
	if uerr := unlock(); err == nil {
		err = uerr
	}
	return err
}
