package sysview

import (
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// SessionInfo is the session that reads the relations.
type SessionInfo struct {
	Role       types.OID // the current role: what information_schema shows
	PID        int32
	SearchPath []string
	Temp       types.OID // the session's schema of temporary tables, 0 for none
}

// producer produces the rows of one relation.
type producer func(v *view, put put) error

// put adds a row in the order of the relation's columns; see datum for the Go types that a cell may
// have.
type put func(row ...any) error

// view is the input of a producer.
type view struct {
	cols  []plan.Column // that are read
	st    *catalog.State
	sess  SessionInfo
	host  Host
	env   *function.Env
	args  []types.Datum
	shape *shape
}

// Open computes the rows of v.Cols. It applies none of v.Filter. host may be nil: its rows are then
// missing.
func Open(v *plan.Virtual, st *catalog.State, sess SessionInfo, host Host, env *function.Env) ([]*batch.Batch, error) {
	sh := shapes().byName[shapeKey{v.Schema_, v.Name}]
	if sh == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s.%s\" does not exist", v.Schema_, v.Name)
	}
	if host == nil {
		host = noHost{}
	}
	sh = sh.keyed(st, v.Args)
	w := &writer{cols: v.Cols, width: len(sh.cols), name: sh.name}
	for _, c := range v.Cols {
		if int(c.Num) < 1 || int(c.Num) > len(sh.cols) {
			return nil, pgerr.Internal("column %d of %s.%s", c.Num, v.Schema_, v.Name)
		}
		w.builders = append(w.builders, array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow()))
	}
	if sh.rows != nil {
		vw := &view{cols: v.Cols, st: st, sess: sess, host: host, env: env, args: v.Args, shape: sh}
		if err := sh.rows(vw, w.put); err != nil {
			return nil, err
		}
	}
	w.flush()
	return w.out, nil
}

// writer turns rows into batches.
type writer struct {
	name     string
	cols     []plan.Column
	width    int
	builders []array.Builder
	n        int
	out      []*batch.Batch
}

func (w *writer) put(row ...any) error {
	if len(row) != w.width {
		return pgerr.Internal("%d columns of %d for %s", len(row), w.width, w.name)
	}
	for i, c := range w.cols {
		if err := types.AppendDatum(w.builders[i], c.Type, datum(row[c.Num-1])); err != nil {
			return err
		}
	}
	if w.n++; w.n == batch.DefaultSize {
		w.flush()
	}
	return nil
}

func (w *writer) flush() {
	if w.n == 0 {
		return
	}
	cols := make([]arrow.Array, len(w.builders))
	for i, b := range w.builders {
		cols[i] = b.NewArray()
	}
	w.out = append(w.out, batch.New(cols, w.n))
	w.n = 0
}

// Datum is a cell of a row of NodeRows, of the Go values that are natural.
func Datum(x any) types.Datum { return datum(x) }

// datum turns the Go values that producers find natural into those of columns:
// all integers, times (zero is NULL), durations, bytes as "char", lists (nil is
// NULL).
func datum(x any) types.Datum {
	switch x := x.(type) {
	case int:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case uint64:
		return int64(x)
	case types.OID:
		return int64(x)
	case float32:
		return float64(x)
	case byte:
		return string(rune(x))
	case catalog.RelKind:
		return string(rune(x))
	case catalog.JobState:
		return string(x)
	case time.Time:
		if x.IsZero() {
			return nil
		}
		return x.UnixMicro()
	case time.Duration:
		return datetime.Interval{Micros: x.Microseconds()}
	case []string:
		return list(types.Text, x)
	case []int16:
		return list(types.Int2, x)
	case []types.OID:
		return list(types.Oid, x)
	case []byte:
		return list(types.Char, x)
	}
	return x
}

func list[T any](elem types.Type, xs []T) types.Datum {
	if xs == nil {
		return nil
	}
	a := types.Array{Elem: elem, Elems: make([]types.Datum, len(xs))}
	for i, x := range xs {
		a.Elems[i] = datum(x)
	}
	return a
}

// orNull returns nil for the zero value.
func orNull[T comparable](x T) any {
	var zero T
	if x == zero {
		return nil
	}
	return x
}

// text returns nil for "".
func text(s string) any { return orNull(s) }

// fields is a row under construction, by column names; what is not set is NULL.
type fields struct {
	sh  *shape
	row []any
}

func (v *view) fields() *fields { return &fields{sh: v.shape, row: make([]any, len(v.shape.cols))} }

func (f *fields) set(name string, x any) *fields {
	i, ok := f.sh.index[name]
	if !ok {
		panic("BUG: sysview: " + f.sh.name + " has no column " + name)
	}
	f.row[i] = x
	return f
}

// noHost stands in where there is no Host.
type noHost struct{}

func (noHost) Sessions() []SessionRow                            { return nil }
func (noHost) Settings() []SettingRow                            { return nil }
func (noHost) Prepared() []PreparedRow                           { return nil }
func (noHost) Cursors() []CursorRow                              { return nil }
func (noHost) Locks() []LockRow                                  { return nil }
func (noHost) Nodes() []NodeRow                                  { return nil }
func (noHost) Tasks() []TaskRow                                  { return nil }
func (noHost) Archive() (int64, time.Time)                       { return 0, time.Time{} }
func (noHost) NodeRows(string, []int16) ([][]types.Datum, error) { return nil, nil }
func (noHost) ModelRows(relation string, _ *catalog.ModelVersion, _ []types.Datum, _ func([]types.Datum) error) error {
	return pgerr.Unsupported("ml.%s needs a node that holds the model", relation)
}
