package coord

import (
	"context"
	"fmt"
	"time"

	"github.com/tributarydb/tributary/cluster/archive"
	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Storage is the cluster's storage, where it has one.
type Storage interface {
	// Store opens its place.
	Store(place string) (object.Store, error)
	// Hold is archive.Config.Hold.
	Hold(ctx context.Context, place string) (takenOver uint64, err error)
	HoldEvery() time.Duration
}

// startArchiver starts what sends commits to the archive while this node leads.
func (e *Engine) startArchiver() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a := archive.New(archive.Config{Catalog: e.cfg.Meta, Leads: e.cfg.Members.Leads, Commits: e.cfg.Commits, Pool: e.cfg.Pool, Log: e.cfg.Log,
		Open: e.openArchive, Backup: e.archiveBase, Hold: e.cfg.Storage.Hold, HoldEvery: e.cfg.Storage.HoldEvery(),
		Source: func(ctx context.Context, f *catalog.Segment, take backup.Take) error {
			return e.cfg.Backups.Read(ctx, f, take)
		},
		Event: func(severity, place, message string) {
			if e.cfg.Observe != nil {
				e.cfg.Observe.Event("archive", severity, place, message)
			}
		}})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// openArchive opens, or makes, the archive's directory with the rights of the superuser who named it; the storage with those of the
// node.
func (e *Engine) openArchive(ctx context.Context, place string) (*backup.Dir, func(), error) {
	return openPlace(ctx, e.cfg.Pool, place, true, func(path string) (object.Store, error) {
		if path == catalog.Storage(e.cfg.Meta.Current()) {
			return e.cfg.Storage.Store(path)
		}
		return e.cfg.Stores.For(catalog.BootstrapRoleOID, path, true)
	})
}

// archiveBase makes a backup in the archive, and keeps so many; 0: all.
func (e *Engine) archiveBase(ctx context.Context, place string, keep int) error {
	if err := e.cfg.Meta.Barrier(ctx); err != nil {
		return err
	}
	role := e.cfg.Meta.Current().Role(catalog.BootstrapRoleOID)
	if role == nil {
		return pgerr.Internal("there is no first superuser")
	}
	statement := "BACKUP TO " + lex.QuoteLiteral(place)
	if keep > 0 {
		statement += fmt.Sprintf(" WITH (keep = %d)", keep)
	}
	return e.runOwn(ctx, role.Name, statement, [2]string{"application_name", "archive"}, [2]string{"statement_timeout", "0"}, [2]string{"transaction_timeout", "0"})
}

// openPlace opens, or makes, the place of backups that a URI names; store is called for one in a bucket. done gives back what is charged for it.
func openPlace(ctx context.Context, pool *mem.Pool, uri string, write bool, store func(path string) (object.Store, error)) (_ *backup.Dir, done func(), err error) {
	path, err := backup.Path(uri)
	if err != nil {
		return nil, nil, err
	}
	if !object.Remote(path) {
		open := backup.Open
		if write {
			open = backup.Create
		}
		dir, err := open(disk.OS, path)
		return dir, func() {}, err
	}
	s, err := store(path)
	if err != nil {
		return nil, nil, err
	}
	return backup.WriteIn(ctx, s, path, write, pool)
}
