package backup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Give passes the bytes of a file of a backup to to, and returns an error after them if they are not those of the file.
func (d *Dir) Give(ctx context.Context, backup string, f *catalog.Segment, to func([]byte) error) error {
	sum, n := store.SumOf(f), int64(0)
	failed := error(nil) // of to
	err := d.send(ctx, f.ID, func(b []byte) error {
		if n += int64(len(b)); f.Bytes > 0 && n > f.Bytes {
			return &store.CorruptError{Segment: f.ID, What: "more bytes than it has"}
		}
		sum.Write(b)
		failed = to(b)
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		err = &store.CorruptError{Segment: f.ID, Missing: true}
	case err == nil && !sum.Good():
		err = &store.CorruptError{Segment: f.ID, What: "the file has another hash"}
	}
	if err != nil {
		return damagedFile(backup, f, err)
	}
	return nil
}

// Each calls use for each file of a state, several at once.
func Each(ctx context.Context, state *catalog.State, use func(context.Context, *catalog.Segment) error) error {
	return EachOf(ctx, unique(state), use)
}

// EachOf is Each for some files.
func EachOf(ctx context.Context, files []*catalog.Segment, use func(context.Context, *catalog.Segment) error) error {
	g, one := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, f := range files {
		if one.Err() != nil {
			break
		}
		g.Go(func() error { return use(one, f) })
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// Verified is what Verify found.
type Verified struct {
	Backups, Files int
	Bytes          int64
	Damage         []error // in the order of the backups
	// Of an archive: the files of commits, the commits in them, and to when it can be restored.
	Logs, Commits int
	Windows       []Window
}

// Verify reads all backups, all commits of an archive, and all files that they name.
func (d *Dir) Verify(ctx context.Context) (v Verified, err error) {
	logs, err := d.logs() // before the backups: one that bridges a gap is there before the commits that follow it
	if err != nil {
		return v, err
	}
	names, err := d.Names()
	if err != nil {
		return v, err
	}
	seen := map[catalog.SegmentID]struct{}{}
	look := func(name string, f *catalog.Segment) error {
		if _, done := seen[f.ID]; done {
			return nil
		}
		seen[f.ID] = struct{}{}
		v.Files++
		err := d.Give(ctx, name, f, func(b []byte) error {
			v.Bytes += int64(len(b))
			return nil
		})
		if ctx.Err() == nil && err != nil {
			v.Damage = append(v.Damage, err)
		}
		return ctx.Err()
	}
	var heads []Head
	for _, name := range names {
		v.Backups++
		b, err := d.Read(name)
		var state *catalog.State
		if err == nil {
			state, err = b.Catalog()
		}
		if err != nil {
			v.Damage = append(v.Damage, err)
			continue
		}
		heads = append(heads, b.Head)
		for _, f := range unique(state) {
			if err := look(name, f); err != nil {
				return v, err
			}
		}
	}
	v.Damage = append(v.Damage, d.missingCommits(logs, heads)...)
	return v, d.verifyLogs(heads, &v, look)
}

// missingCommits names the commits that are missing after the newest backup of an archive. What is missing before that was bridged by it.
func (d *Dir) missingCommits(logs []logFile, heads []Head) (out []error) {
	newest := uint64(0)
	for _, h := range heads {
		if d.base(h) {
			newest = max(newest, h.Version)
		}
	}
	for _, g := range gaps(logs, newest) {
		out = append(out, pgerr.New(pgerr.DataCorrupted, "archive %q is damaged: the commits between versions %d and %d are missing", d.path, g.from, g.to))
	}
	return out
}

// verifyLogs reads the commits of an archive, and the files that they add.
func (d *Dir) verifyLogs(heads []Head, v *Verified, look func(name string, f *catalog.Segment) error) error {
	logs, err := d.logs()
	if err != nil {
		return err
	}
	for _, f := range logs {
		v.Logs++
		var added []*catalog.Segment
		h, err := d.eachRecord(f, nil, func(r past.Record) (bool, error) {
			v.Commits++
			changes, err := r.Changes()
			added = append(added, catalog.ArchivedFiles(changes)...)
			return true, err
		})
		if err != nil {
			v.Damage = append(v.Damage, err)
			continue
		}
		here := map[catalog.SegmentID]struct{}{}
		for _, id := range h.Files {
			here[id] = struct{}{}
		}
		for _, g := range added {
			if _, ok := here[g.ID]; ok {
				if err := look(f.name, g); err != nil {
					return err
				}
			}
		}
	}
	v.Windows, err = d.Windows(heads)
	return err
}
