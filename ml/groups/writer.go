package groups

import (
	"encoding/binary"
	"io"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	magic   = "TRIBGRPS"
	version = 1
	// A block is what is read to find a group: so many groups, or so many bytes of few.
	blockGroups = 64
	blockBytes  = 1 << 20
)

var le = binary.LittleEndian

// entry is a block in the index.
type entry struct {
	at  int64
	key []byte // of its first group
}

// Writer writes a file of groups. charge is called for the memory of the index before it grows.
type Writer struct {
	to     io.Writer
	charge func(bytes int64) error
	at     int64
	index  []entry
	groups int64 // so far
	rows   int   // of the block
	buf    []byte
}

// NewWriter begins a file.
func NewWriter(to io.Writer, keys []record.Column, charge func(bytes int64) error) (*Writer, error) {
	e := &canon.E{B: append([]byte(magic), version)}
	e.U32(uint32(len(keys)))
	for _, k := range keys {
		e.Str(k.Name)
		e.Type(k.Type)
	}
	w := &Writer{to: to, charge: charge}
	_, err := w.Write(e.B)
	return w, err
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.at += int64(n)
	return n, err
}

// Put writes a group: the encoding of its Group. Keys ascend.
func (w *Writer) Put(key []byte, vals []types.Datum, group []byte) error {
	if n := len(w.index); n == 0 || w.rows == blockGroups || w.at-w.index[n-1].at >= blockBytes {
		if err := w.charge(int64(64 + len(key))); err != nil {
			return err
		}
		w.index, w.rows = append(w.index, entry{w.at, append([]byte(nil), key...)}), 0
	}
	w.groups, w.rows = w.groups+1, w.rows+1
	e := &canon.E{B: w.buf[:0]}
	e.Bytes(key)
	e.Bytes(codec.Marshal(vals))
	e.Bytes(group)
	w.buf = e.B
	_, err := w.Write(e.B)
	return err
}

// Close ends the file. classes are those of each target that any group has; pooled writes the model of all
// rows, nil for none.
func (w *Writer) Close(classes [][]string, pooled func(io.Writer) error) error {
	end := w.at
	if pooled != nil {
		if err := pooled(w); err != nil {
			return err
		}
	}
	e := &canon.E{}
	at := w.at
	e.I64(w.groups)
	e.I64(end)
	e.I64(at)
	e.U32(uint32(len(classes)))
	for _, c := range classes {
		e.Strs(c)
	}
	e.U32(uint32(len(w.index)))
	for _, x := range w.index {
		e.I64(x.at)
		e.Bytes(x.key)
	}
	e.I64(at)
	e.B = append(e.B, magic...)
	_, err := w.Write(e.B)
	return err
}
