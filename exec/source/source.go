package source

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// table is a source with its arguments read.
type table interface {
	columns() []plan.Column
	rows() float64
	// units returns how many units there are; perPart how many of them are worth a split of their own.
	units() int64
	perPart() int64
	// from are the files that are read.
	from() []file
	// read opens units [from, to) for the columns with these indexes.
	read(ctx context.Context, from, to int64, cols []int, types []plan.Column) (op.BatchReader, error)
}

// Sources opens sources. It remembers what it has found out about files; it is
// for any goroutine.
type Sources struct {
	stores *object.Stores
	mu     sync.Mutex
	files  map[string]any // by path, size and time of change, and the kind of fact
	size   int            // of files
	tables map[weak.Pointer[plan.Source]]table
}

// mostRemembered bounds what is cached of files: columns, row groups and marks.
const mostRemembered = 1 << 16

// New makes a Sources, which reads files of stores; nil: of the server's disks only.
func New(stores *object.Stores) *Sources {
	return &Sources{stores: stores, files: map[string]any{}, tables: map[weak.Pointer[plan.Source]]table{}}
}

// makers read the arguments of each source.
var makers = map[string]func(s *Sources, a *args) (table, error){
	"read_csv":            newCSV,
	"read_csv_rejects":    newRejects,
	"sniff_csv":           newSniff,
	"read_json":           newJSON,
	"read_parquet":        newParquet,
	"make_classification": newClassification,
	"make_regression":     newRegression,
	"make_blobs":          newBlobs,
	"timeseries":          newTimeseries,
	"random_matrix":       newMatrix,
	"reshape":             newMatrix,
	"transpose":           newMatrix,
	"slice":               newMatrix,
}

func (s *Sources) table(ctx context.Context, name string, list []plan.Arg, r Reader) (table, error) {
	mk := makers[name]
	if mk == nil {
		return nil, nil
	}
	a := &args{fn: name, list: list, ctx: ctx, stores: s.stores, reader: r}
	t, err := mk(s, a)
	if err == nil {
		err = a.err
	}
	return t, err
}

// IsFile reports whether name is one of the sources that read files of the server.
func IsFile(name string) bool {
	return slices.Contains([]string{"read_csv", "read_json", "read_parquet", "read_csv_rejects", "sniff_csv"}, name)
}

// Remote reports whether arguments name files of other places than the server's disks.
func Remote(list []plan.Arg) bool {
	return slices.ContainsFunc(list, func(a plan.Arg) bool {
		switch v := a.Val.(type) {
		case string:
			return object.Remote(v)
		case types.Array:
			return slices.ContainsFunc(v.Elems, func(e types.Datum) bool { s, ok := e.(string); return ok && object.Remote(s) })
		}
		return false
	})
}

// Local reports whether s is a source that only the session's node can read: files of its own disks.
func Local(s *plan.Source) bool { return IsFile(s.Name) && s.Shared == 0 }

// Source describes a call: its columns, an estimate of its rows. For an unknown name it returns nil
// and no error. Files that all lie in buckets, or below directories that all nodes have, are read by all nodes.
func (s *Sources) Source(ctx context.Context, name string, list []plan.Arg, r Reader) (*plan.Source, error) {
	t, err := s.table(ctx, name, list, r)
	if t == nil || err != nil {
		return nil, err
	}
	src := &plan.Source{Name: name, Args: list, Role: r.Role, Cols: slices.Clone(t.columns()), Rows: t.rows()}
	for i := range src.Cols {
		src.Cols[i].Num = int16(i + 1)
	}
	if f := t.from(); len(f) > 0 && everywhere(f, r.Shared) {
		if src.Shared = digest(f); Remote(list) {
			src.Keep(t) // listing a bucket takes long, and the statement is to read what was listed
		}
	}
	return src, nil
}

// resolved returns the table of a plan's source, computed once for as long as the plan lives: with
// many files each split would otherwise stat all of them again.
func (s *Sources) resolved(ctx context.Context, src *plan.Source) (table, error) {
	if t, ok := src.Kept().(table); ok {
		return t, nil
	}
	key := weak.Make(src)
	s.mu.Lock()
	t := s.tables[key]
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	// Who may read the server's disks was asked when the statement was planned.
	t, err := s.table(ctx, src.Name, src.Args, Reader{Role: src.Role, Server: true})
	if err == nil && t == nil {
		return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", src.Name)
	}
	if src.Shared != 0 {
		hint := "tributary.shared_directories names directories that lie at the same path on all nodes."
		if Remote(src.Args) {
			hint = "Objects in buckets are read by all nodes, each with the secret, or the credentials, that it has. Run the statement again where they have changed."
		}
		var e *pgerr.Error
		if errors.As(err, &e) && e.Hint == "" {
			return nil, e.WithHint("%s", hint)
		}
		if err == nil && digest(t.from()) != src.Shared {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the files of %s are not those that the statement was planned with", src.Name).
				WithDetail("A file has changed since, or this node has others at the same paths.").WithHint("%s", hint)
		}
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.tables[key]; was != nil {
		return was, nil
	}
	s.tables[key] = t
	runtime.AddCleanup(src, s.forget, key)
	return t, nil
}

func (s *Sources) forget(key weak.Pointer[plan.Source]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, key)
}

// Parts returns into how many splits a source is worth dividing; 1 where it is not known, and Open
// then returns the reason.
func (s *Sources) Parts(src *plan.Source) int {
	t, err := s.resolved(context.Background(), src)
	if err != nil {
		return 1
	}
	n := (t.units() + t.perPart() - 1) / t.perPart()
	return int(max(1, min(n, 1<<20)))
}

// Open reads split part of of, and charges pool, which may be nil, for what a file makes it hold.
func (s *Sources) Open(ctx context.Context, src *plan.Source, part, of int, pool *mem.Pool) (op.BatchReader, error) {
	t, err := s.resolved(ctx, src)
	if err != nil {
		return nil, err
	}
	if of < 1 || part < 0 || part >= of {
		return nil, pgerr.Internal("part %d of %d", part, of)
	}
	all := t.columns()
	cols := make([]int, len(src.Cols))
	for i, c := range src.Cols {
		if c.Num < 1 || int(c.Num) > len(all) || all[c.Num-1].Type != c.Type {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the columns of %s have changed since the statement was planned", src.Name)
		}
		cols[i] = int(c.Num - 1)
	}
	n := t.units()
	r, err := t.read(ctx, n*int64(part)/int64(of), n*int64(part+1)/int64(of), cols, src.Cols)
	if u, ok := r.(*units); ok {
		u.pool = pool
	}
	return r, err
}

// remember returns what f found out about a file in the state that key names, from a cache where it
// can; f also returns its size.
func remember[T any](s *Sources, key string, f func() (T, int, error)) (T, error) {
	s.mu.Lock()
	if v, ok := s.files[key].(T); ok {
		s.mu.Unlock()
		return v, nil
	}
	s.mu.Unlock()
	v, n, err := f()
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += n + 1; s.size > mostRemembered {
		clear(s.files)
		s.size = n + 1
	}
	s.files[key] = v
	return v, nil
}

// units reads units one after the other, each by open.
type units struct {
	next, end int64
	open      func(ctx context.Context, unit int64) (op.BatchReader, error)
	cur       op.BatchReader
	reuse     bool
	pool      *mem.Pool // the statement's; may be nil
	done      func()    // called at the end; may be nil
}

// AllowReuse implements op.Reuser.
func (u *units) AllowReuse() {
	u.reuse = true
	op.AllowReuse(u.cur)
}

func (u *units) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if u.cur == nil {
			if u.next >= u.end {
				return nil, io.EOF
			}
			r, err := u.open(ctx, u.next)
			if err != nil {
				return nil, err
			}
			u.cur = r
			u.next++
			if u.reuse {
				op.AllowReuse(r)
			}
		}
		b, err := u.cur.Next(ctx)
		if err != io.EOF {
			return b, err
		}
		if err := u.finish(); err != nil {
			return nil, err
		}
	}
}

func (u *units) finish() error {
	if u.cur == nil {
		return nil
	}
	err := u.cur.Close()
	u.cur = nil
	return err
}

func (u *units) Close() error {
	u.next = u.end
	if u.done != nil {
		u.done()
	}
	return u.finish()
}
