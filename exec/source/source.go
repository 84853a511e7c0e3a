package source

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// table is a source with its arguments read.
type table interface {
	columns() []plan.Column
	rows() float64
	// units is how many pieces there are; perPart is how many of them are worth
	// a split of their own.
	units() int64
	perPart() int64
	// read opens units [from, to) for the columns with these indexes.
	read(ctx context.Context, from, to int64, cols []int, types []plan.Column) (op.BatchReader, error)
}

// Sources opens sources. It remembers what it has found out about files; it is
// for any goroutine.
type Sources struct {
	mu    sync.Mutex
	files map[string]any // by path, size and time of change, and what was asked
}

// New makes a Sources.
func New() *Sources { return &Sources{files: map[string]any{}} }

// makers read the arguments of each source.
var makers = map[string]func(s *Sources, a *args) (table, error){
	"read_csv":            newCSV,
	"read_json":           newJSON,
	"read_parquet":        newParquet,
	"make_classification": newClassification,
	"make_regression":     newRegression,
	"make_blobs":          newBlobs,
	"timeseries":          newTimeseries,
	"random_matrix":       newRandomMatrix,
}

func (s *Sources) table(name string, list []plan.Arg) (table, error) {
	mk := makers[name]
	if mk == nil {
		return nil, nil
	}
	a := &args{fn: name, list: list}
	t, err := mk(s, a)
	if err == nil {
		err = a.err
	}
	return t, err
}

// IsFile tells the sources that read files of the server.
func IsFile(name string) bool {
	return name == "read_csv" || name == "read_json" || name == "read_parquet"
}

// Local tells the sources that only the session's node can read: files of its
// own disks.
func Local(s *plan.Source) bool { return IsFile(s.Name) }

// Source gives the columns of a source and an estimate of its rows. An unknown
// name gives no columns and no error.
func (s *Sources) Source(name string, list []plan.Arg) (cols []plan.Column, rows float64, err error) {
	t, err := s.table(name, list)
	if t == nil || err != nil {
		return nil, 0, err
	}
	cols = append([]plan.Column(nil), t.columns()...)
	for i := range cols {
		cols[i].Num = int16(i + 1)
	}
	return cols, t.rows(), nil
}

// Parts tells into how many splits a source is worth dividing; 1 where it
// cannot be told, and Open then tells why.
func (s *Sources) Parts(src *plan.Source) int {
	t, err := s.table(src.Name, src.Args)
	if t == nil || err != nil {
		return 1
	}
	n := (t.units() + t.perPart() - 1) / t.perPart()
	return int(max(1, min(n, 1<<20)))
}

// Open reads split part of of.
func (s *Sources) Open(ctx context.Context, src *plan.Source, part, of int) (op.BatchReader, error) {
	t, err := s.table(src.Name, src.Args)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", src.Name)
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
	return t.read(ctx, n*int64(part)/int64(of), n*int64(part+1)/int64(of), cols, src.Cols)
}

// remember gives what f found out about a file in the state that key names.
func remember[T any](s *Sources, key string, f func() (T, error)) (T, error) {
	s.mu.Lock()
	if v, ok := s.files[key].(T); ok {
		s.mu.Unlock()
		return v, nil
	}
	s.mu.Unlock()
	v, err := f()
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) >= 256 {
		clear(s.files)
	}
	s.files[key] = v
	return v, nil
}

// units reads units one after the other, each by open.
type units struct {
	next, end int64
	open      func(ctx context.Context, unit int64) (op.BatchReader, error)
	cur       op.BatchReader
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
	return u.finish()
}
