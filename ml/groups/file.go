package groups

import (
	"bytes"
	"sort"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// File is a file of groups that is read where it lies: every call that reads it gets its bytes. It is immutable.
type File struct {
	Keys    []record.Column
	Groups  int64
	Classes [][]string // of each target, all that any group has

	begin, end int64 // of the groups
	pooled     int64 // the end of the model of all rows, which begins at end
	index      []entry
}

const footer = 8 + len(magic)

func errFile() error {
	return pgerr.New(pgerr.DataCorrupted, "invalid encoding of a model of groups")
}

// IsFile reports whether bytes are of a file of groups, and not of a single model.
func IsFile(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }

// Open reads the index of a file. charge is called for its memory before it is allocated.
func Open(b []byte, charge func(bytes int64) error) (*File, error) {
	if len(b) < len(magic)+1+footer || !IsFile(b) || string(b[len(b)-len(magic):]) != magic {
		return nil, errFile()
	}
	if v := b[len(magic)]; v != version {
		return nil, pgerr.Unsupported("format %d of models of groups is not supported", v)
	}
	at := int64(le.Uint64(b[len(b)-footer:]))
	if at < 0 || at > int64(len(b)-footer) {
		return nil, errFile()
	}
	f := &File{}
	h := canon.Read(b[len(magic)+1 : at])
	for range h.Count(14) {
		f.Keys = append(f.Keys, record.Column{Name: h.Str(), Type: h.Type()})
	}
	f.begin = at - int64(h.Left())
	d := canon.ReadWithin(b[at:len(b)-footer], charge)
	f.Groups, f.end, f.pooled = d.I64(), d.I64(), d.I64()
	for range d.Count(4) {
		f.Classes = append(f.Classes, d.Strs())
	}
	last := f.begin
	for i := range d.Count(12) {
		e := entry{d.I64(), bytes.Clone(d.Bytes())}
		if e.at < last || e.at > f.end || i > 0 && bytes.Compare(f.index[i-1].key, e.key) >= 0 {
			d.Fail()
		}
		last, f.index = e.at, append(f.index, e)
	}
	if !h.OK() || len(f.Keys) == 0 || f.end < f.begin || f.pooled < f.end || f.pooled != at {
		d.Fail()
	}
	return f, d.Done("a model of groups")
}

// Pooled returns the model of all rows; nil for none.
func (f *File) Pooled(b []byte) []byte {
	if f.pooled == f.end {
		return nil
	}
	return b[f.end:f.pooled]
}

// Find returns the group with a key, nil for none.
func (f *File) Find(b []byte, key []byte) (*Group, error) {
	i := sort.Search(len(f.index), func(i int) bool { return bytes.Compare(f.index[i].key, key) > 0 })
	if i == 0 {
		return nil, nil
	}
	end := f.end
	if i < len(f.index) {
		end = f.index[i].at
	}
	d := canon.Read(b[f.index[i-1].at:end])
	for d.Left() > 0 {
		k := d.Bytes()
		d.Bytes()
		g := d.Bytes()
		if !d.OK() {
			return nil, errFile()
		}
		switch c := bytes.Compare(k, key); {
		case c == 0:
			return Decode(g)
		case c > 0:
			return nil, nil
		}
	}
	return nil, nil
}

// Each calls visit with all groups, in the order of their keys.
func (f *File) Each(b []byte, visit func(vals []types.Datum, g *Group) error) error {
	return f.Raw(b, func(_ []byte, vals []types.Datum, enc []byte) error {
		g, err := Decode(enc)
		if err != nil {
			return err
		}
		return visit(vals, g)
	})
}

// Raw calls visit with all keys and the encodings of their groups.
func (f *File) Raw(b []byte, visit func(key []byte, vals []types.Datum, group []byte) error) error {
	d := canon.Read(b[f.begin:f.end])
	for d.Left() > 0 {
		key, v, enc := d.Bytes(), d.Bytes(), d.Bytes()
		if !d.OK() {
			return errFile()
		}
		vals, err := codec.Unmarshal[[]types.Datum](v)
		if err != nil || len(vals) != len(f.Keys) {
			return errFile()
		}
		if err := visit(key, vals, enc); err != nil {
			return err
		}
	}
	return nil
}
