package source

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// fileTable is a table of files.
type fileTable interface {
	table
	fileOf(unit int64) int
}

// labelArgs are the arguments that label reads.
var labelArgs = []string{"filename", "hive_partitioning"}

// label adds to a table the columns that the names of its files give: filename, and those of
// Hive's directories, d/year=2024/month=5/x.csv. Directories count unless the argument says otherwise,
// where all files lie in some of the same names and have no such columns themselves.
func label(t fileTable, a *args) (table, error) {
	l := &labelled{fileTable: t, cols: slices.Clone(t.columns()), own: len(t.columns())}
	files := t.from()
	add := func(name string, typ types.Type, values []types.Datum) {
		l.cols = append(l.cols, plan.Column{Name: name, Type: typ})
		l.values = append(l.values, values)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(l.cols, func(c plan.Column) bool { return c.Name == name })
	}
	if a.bool("filename", false) {
		if has("filename") {
			a.bad("filename", "cannot be true: the files have a column of that name")
		}
		paths := make([]types.Datum, len(files))
		for i, f := range files {
			paths[i] = f.path
		}
		add("filename", types.Text, paths)
	}
	_, told := a.get("hive_partitioning")
	if !a.bool("hive_partitioning", true) || a.err != nil {
		return l.orPlain(), a.err
	}
	names, rows := hiveOf(files)
	if names == nil && told {
		a.bad("hive_partitioning", "cannot be true: the files do not all lie in directories name=value of the same names")
	}
	for j, name := range names {
		if has(name) {
			if told {
				a.bad("hive_partitioning", "cannot be true: the files have a column %q, as their directories do", name)
			}
			continue
		}
		texts := make([]string, len(files))
		for i := range files {
			texts[i] = rows[i][j]
		}
		typ, values, err := hiveColumn(texts)
		if err != nil {
			return nil, err
		}
		add(name, typ, values)
	}
	return l.orPlain(), a.err
}

// hiveOf returns the names of the directories name=value that files lie in, and the values of each
// file; nil where the names are not the same.
func hiveOf(files []file) (names []string, values [][]string) {
	for i, f := range files {
		var own, row []string
		dirs := strings.Split(filepath.ToSlash(filepath.Dir(f.path)), "/")
		for _, d := range dirs {
			name, value, ok := strings.Cut(d, "=")
			if !ok || name == "" || slices.Contains(own, name) {
				continue
			}
			if v, err := url.PathUnescape(value); err == nil {
				value = v
			}
			own, row = append(own, name), append(row, value)
		}
		if i > 0 && !slices.Equal(own, names) {
			return nil, nil
		}
		names, values = own, append(values, row)
	}
	return names, values
}

// hiveColumn gives values of directories a type: bigint, date, timestamp, or text.
func hiveColumn(texts []string) (types.Type, []types.Datum, error) {
	const null = "__HIVE_DEFAULT_PARTITION__"
	g := guess{}
	for _, s := range texts {
		if s != null && s != "" {
			g.see(s)
		}
	}
	t := g.typ()
	if t.OID == types.BoolOID || t.OID == types.Float8OID {
		t = types.Text
	}
	out := make([]types.Datum, len(texts))
	for i, s := range texts {
		if s == null || s == "" && t.OID != types.TextOID {
			continue
		}
		var err error
		if out[i], err = types.ParseText(t, s, types.DefaultEnv); err != nil {
			return t, nil, err
		}
	}
	return t, out, nil
}

// labelled is a table with further columns, each of one value a file.
type labelled struct {
	fileTable
	cols   []plan.Column
	own    int             // of the files
	values [][]types.Datum // of each further column, by file
}

// orPlain is the table itself where no column is added.
func (l *labelled) orPlain() table {
	if l.values == nil {
		return l.fileTable
	}
	return l
}

func (l *labelled) columns() []plan.Column { return l.cols }

func (l *labelled) read(ctx context.Context, from, to int64, cols []int, want []plan.Column) (op.BatchReader, error) {
	var own []int
	var types []plan.Column
	at := make([]int, len(cols)) // where each column is among own; or minus one minus its place in values
	for i, c := range cols {
		if c >= l.own {
			at[i] = -1 - (c - l.own)
			continue
		}
		at[i] = len(own)
		own, types = append(own, c), append(types, want[i])
	}
	r, err := l.fileTable.read(ctx, from, to, own, types)
	if err != nil {
		return nil, err
	}
	u := r.(*units)
	open := u.open
	u.open = func(ctx context.Context, unit int64) (op.BatchReader, error) {
		r, err := open(ctx, unit)
		if err != nil {
			return nil, err
		}
		return &labels{BatchReader: r, l: l, file: l.fileOf(unit), at: at, made: make([]arrow.Array, len(at))}, nil
	}
	return u, nil
}

// labels adds a file's values to its rows.
type labels struct {
	op.BatchReader
	l    *labelled
	file int
	at   []int
	made []arrow.Array // the longest so far
}

// AllowReuse implements op.Reuser.
func (r *labels) AllowReuse() { op.AllowReuse(r.BatchReader) }

func (r *labels) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, len(r.at))
	for i, at := range r.at {
		if at >= 0 {
			cols[i] = b.Cols[at]
			continue
		}
		if r.made[i] == nil || r.made[i].Len() < b.N {
			k := -1 - at
			t := r.l.cols[r.l.own+k].Type
			build := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
			for range b.N {
				if err := types.AppendDatum(build, t, r.l.values[k][r.file]); err != nil {
					return nil, err
				}
			}
			r.made[i] = build.NewArray()
		}
		cols[i] = array.NewSlice(r.made[i], 0, int64(b.N))
	}
	return b.With(cols), nil
}
