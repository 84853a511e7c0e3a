package source

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/cast"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// sniffedFiles is the number of files that are sniffed for types; values of other files must fit these.
const sniffedFiles = 10

// align finds where each file has the table's columns. Files with headers are read by the names there,
// wherever they stand; with union_by_name the table has the columns of all files, which are NULL where
// a file lacks them. Types are the widest of the first files.
func (t *csvTable) align(first *sniffed, a *args) error {
	union := a.bool("union_by_name", false)
	if a.err != nil {
		return a.err
	}
	if len(t.files) == 1 {
		return nil
	}
	_, columns := a.get("columns")
	_, names := a.get("names")
	_, given := a.get("types")
	given = given || columns || a.bool("all_varchar", false)
	byName := first.opts.Header && !columns && !names
	if union && !byName {
		return pgerr.New(pgerr.InvalidParameterValue, "union_by_name needs files with headers, and neither \"columns\" nor \"names\"")
	}
	t.cols = slices.Clone(t.cols)
	base := t.placesOf(0)
	blank := slices.Clone(first.blank)
	for k, f := range t.files[1:] {
		var sn *sniffed
		var err error
		if !columns && (!given || union) && (k+1 < sniffedFiles || union) {
			if sn, err = t.s.sniffed(f, a); pgerr.Is(err, pgerr.BadCopyFileFormat) {
				sn, err = nil, nil // an empty file
			}
			if err != nil {
				return err
			}
		}
		places := base
		if byName {
			if places, err = t.byName(a.ctx, f, sn, union, &blank); err != nil {
				return err
			}
			if t.places == nil && !slices.Equal(places, base) {
				t.places = make([][]int, k+1, len(t.files))
			}
			if t.places != nil {
				t.places = append(t.places, places)
			}
		}
		if sn == nil || given {
			continue
		}
		for j, c := range sn.cols {
			if j >= len(places) || sn.blank[j] {
				continue
			}
			to := &t.cols[places[j]]
			if blank[places[j]] {
				to.Type, blank[places[j]] = c.Type, false
			} else {
				to.Type = widerType(to.Type, c.Type)
			}
		}
	}
	for k := range t.places {
		if t.places[k] == nil {
			t.places[k] = base
		}
	}
	return nil
}

// placesOf returns, for each column of a file, which column of the table it is.
func (t *csvTable) placesOf(file int) []int {
	if t.places != nil && file < len(t.places) && t.places[file] != nil {
		return t.places[file]
	}
	all := make([]int, len(t.cols))
	for i := range all {
		all[i] = i
	}
	return all
}

// byName is placesOf by the names in a file's header. With union, columns that the table lacks are added to it.
func (t *csvTable) byName(ctx context.Context, f file, sn *sniffed, union bool, blank *[]bool) ([]int, error) {
	names, err := remember(t.s, "csvhead\x00"+string([]byte{t.opts.Delimiter, t.opts.Quote, t.opts.Escape})+itoa(int64(t.opts.Skip))+f.key, func() ([]string, int, error) {
		names, err := t.header(ctx, f)
		return names, len(names), err
	})
	if err != nil || names == nil { // nothing is in it
		return []int{}, err
	}
	places := make([]int, len(names))
	for j, name := range names {
		at := slices.IndexFunc(t.cols, func(c plan.Column) bool { return c.Name == name })
		if at < 0 {
			if !union || sn == nil || j >= len(sn.cols) {
				return nil, differ(t.files[0], f, name, f)
			}
			at = len(t.cols)
			t.cols = append(t.cols, plan.Column{Name: name, Type: sn.cols[j].Type})
			*blank = append(*blank, sn.blank[j])
		}
		places[j] = at
	}
	if !union {
		for at, c := range t.cols {
			if !slices.Contains(places, at) {
				return nil, differ(t.files[0], f, c.Name, t.files[0])
			}
		}
	}
	return places, nil
}

func differ(first, f file, name string, only file) error {
	return pgerr.New(pgerr.DatatypeMismatch, "files %q and %q have different columns", first.path, f.path).
		WithDetail("Only %q has a column %q.", only.path, name).
		WithHint("With union_by_name => true the columns of all files are read, and are NULL where a file lacks them.")
}

// header reads the names in a file's first record; nil where there is none.
func (t *csvTable) header(ctx context.Context, f file) ([]string, error) {
	r, err := openText(ctx, f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var text []byte
	for size := int64(4 << 10); ; size *= 4 {
		more, err := io.ReadAll(io.LimitReader(r, size))
		if err != nil {
			return nil, ReadError(f.path, err)
		}
		text = append(text, more...)
		whole := int64(len(more)) < size
		recs := split(afterLines(bytes.TrimPrefix(text, bom), t.opts), t.opts, whole, 1)
		if len(recs) == 0 && !whole && len(text) < sampleBytes {
			continue
		}
		if len(recs) == 0 {
			return nil, nil
		}
		var names []string
		for _, c := range recs[0].fields {
			names = append(names, c.text)
		}
		return columnNames(len(names), names), nil
	}
}

// align finds where each Parquet file has the table's columns: by their names, wherever they stand. They
// are those of the first file, whose types the others must have. With union they are those of all files,
// NULL where a file lacks them, of types that hold the values of all.
func (t *parquetTable) align(union bool) error {
	first := t.infos[0]
	for k, info := range t.infos[1:] {
		if slices.Equal(info.cols, first.cols) {
			continue
		}
		for _, c := range info.cols {
			at := slices.IndexFunc(t.cols, func(have plan.Column) bool { return have.Name == c.Name })
			switch {
			case at < 0 && union:
				t.cols = append(slices.Clip(t.cols), c)
			case at >= 0 && t.cols[at].Type != c.Type:
				wider, ok := types.Type{}, false
				if union {
					wider, ok = unionType(t.cols[at].Type, c.Type)
				}
				if !ok {
					e := pgerr.New(pgerr.DatatypeMismatch, "files %q and %q have different columns", t.files[0].path, t.files[k+1].path).
						WithDetail("Column %q is %s in the one and %s in the other.", c.Name, t.cols[at].Type, c.Type)
					if !union {
						e = e.WithHint("With union_by_name => true the column has a type for the values of both, where there is one.")
					}
					return e
				}
				t.cols = slices.Clone(t.cols)
				t.cols[at].Type = wider
			}
		}
		t.places = make([][]int, len(t.infos))
	}
	for k := range t.places {
		t.places[k] = make([]int, len(t.cols))
		for at, c := range t.cols {
			t.places[k][at] = slices.IndexFunc(t.infos[k].cols, func(of plan.Column) bool { return of.Name == c.Name })
			if t.places[k][at] < 0 && !union {
				return differ(t.files[0], t.files[k], c.Name, t.files[0])
			}
		}
	}
	return nil
}

// openAligned opens a row group of a file whose columns are not those of the table.
func (t *parquetTable) openAligned(ctx context.Context, file, n int, cols []int, seq int64, pool *mem.Pool) (op.BatchReader, error) {
	info := t.infos[file]
	r := &aligned{from: make([]int, len(cols)), own: make([]types.Type, len(cols)), want: make([]types.Type, len(cols)), widen: make([]*widening, len(cols))}
	var own []int
	var err error
	for i, c := range cols {
		r.from[i], r.want[i] = -1, t.cols[c].Type
		if at := t.places[file][c]; at >= 0 {
			r.from[i], r.own[i] = len(own), info.cols[at].Type
			own = append(own, at)
			if r.own[i] != r.want[i] {
				if r.widen[i], err = newWidening(r.own[i], r.want[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	r.BatchReader, err = openGroup(ctx, t.files[file], info, n, own, seq, pool)
	return r, err
}

// aligned reads a file's rows as rows of the table.
type aligned struct {
	op.BatchReader
	from      []int        // of each column, its place in the file's batches; -1 for none
	own, want []types.Type // in the file, and in the table
	widen     []*widening  // where these are not the same
}

// AllowReuse implements op.Reuser.
func (r *aligned) AllowReuse() { op.AllowReuse(r.BatchReader) }

func (r *aligned) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, len(r.from))
	for i, at := range r.from {
		switch {
		case at < 0:
			cols[i] = batch.Nulls(r.want[i].Arrow(), b.N)
		case r.own[i] == r.want[i]:
			cols[i] = b.Cols[at]
		default:
			if cols[i], err = r.widen[i].column(ctx, b.Cols[at]); err != nil {
				return nil, err
			}
		}
	}
	return b.With(cols), nil
}

// unionType returns the type that a column has if files of one table have these two for it.
func unionType(a, b types.Type) (types.Type, bool) {
	switch x, y := a.Rank(), b.Rank(); {
	case x > 0 && y > 0:
		if x < y {
			a = b
		}
		switch {
		case a.IsInteger():
			return a, true
		case a.OID == types.NumericOID:
			return types.Numeric, true
		}
		return types.Float8, true
	case a.OID == types.DateOID && b.OID == types.TimestampOID, a.OID == types.TimestampOID && b.OID == types.DateOID:
		return types.Timestamp, true
	case a.OID == types.TextOID && !b.IsArray(), b.OID == types.TextOID && !a.IsArray():
		return types.Text, true
	}
	return a, false
}

// widening converts a column to a type that unionType found, as a cast in SQL does.
type widening struct {
	to   types.Type
	cast *cast.Conversion // nil where the columns of both types have the same values
}

func newWidening(from, to types.Type) (*widening, error) {
	run, err := cast.Between(from, to, true)
	if err != nil || run == nil {
		return &widening{to: to}, err
	}
	return &widening{to, cast.New(from, to, run)}, nil
}

func (w *widening) column(ctx context.Context, arr arrow.Array) (arrow.Array, error) {
	a := vector.Once(nil)
	v := vector.FromArrow(a, arr)
	if w.cast != nil {
		var err error
		if v, err = w.cast.Apply(ctx, &function.Env{}, a, v); err != nil {
			return nil, err
		}
	}
	return v.Spread(a).ToArrow(w.to)
}

// widerType returns a type for the values of both, which were guessed from text: text if there is no other.
func widerType(a, b types.Type) types.Type {
	if a == b {
		return a
	}
	if t, ok := unionType(a, b); ok {
		return t
	}
	return types.Text
}
