package source

import (
	"bytes"
	"io"
	"slices"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// sniffedFiles is of how many files the types are looked at; those of the others must fit.
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
			if places, err = t.byName(f, sn, union, &blank); err != nil {
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

// placesOf is which column of the table each column of a file is.
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

// byName is placesOf of a file that is new, by its header. With union what the table lacks is added.
func (t *csvTable) byName(f file, sn *sniffed, union bool, blank *[]bool) ([]int, error) {
	names, err := remember(t.s, "csvhead\x00"+string([]byte{t.opts.Delimiter, t.opts.Quote, t.opts.Escape})+itoa(int64(t.opts.Skip))+f.key, func() ([]string, int, error) {
		names, err := t.header(f)
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
func (t *csvTable) header(f file) ([]string, error) {
	r, err := openText(f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var text []byte
	for size := int64(4 << 10); ; size *= 4 {
		more, err := io.ReadAll(io.LimitReader(r, size))
		if err != nil {
			return nil, readError(f.path, err)
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

// widerType is a type that has the values of both.
func widerType(a, b types.Type) types.Type {
	has := func(x, y types.OID) bool { return a.OID == x && b.OID == y || a.OID == y && b.OID == x }
	switch {
	case a == b:
		return a
	case has(types.Int8OID, types.Float8OID):
		return types.Float8
	case has(types.DateOID, types.TimestampOID):
		return types.Timestamp
	}
	return types.Text
}
