package record

import (
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func errRecords() error {
	return pgerr.New(pgerr.DataCorrupted, "invalid encoding of training rows")
}

// recordLen is the length of the record at the start of b; false if b does not
// hold it whole.
func (l *Layout) recordLen(b []byte) (int, bool) {
	n := l.fixed
	if len(b) < n {
		return 0, false
	}
	if len(l.vars) > 0 {
		for _, c := range l.vars {
			n += int(le.Uint32(b[l.at[c]:]))
		}
		n = (n + 7) &^ 7
	}
	return n, n <= len(b)
}

// coded is what a record of an encoded row has.
type coded struct {
	dense, codes     int
	narrow, weighted bool
	width            int // of a number
	orders           int // ranks, of a layout that is keyed
	label0           int // where the label begins, or else what says where a row belongs is before it
	dense0, codes0   int // where the dense columns and the codes begin
}

func (l *Layout) isCoded() bool { return l.coded.width > 0 }

// keyed reports whether records begin with what says where they belong: those of rows as they
// came, and of encoded ones of windows. They are packed in the file.
func (l *Layout) keyed() bool { return !l.isCoded() || l.coded.label0 > 0 }

// stride is the memory of a record of fixed length.
func (l *Layout) stride() int { return (l.fixed + 7) &^ 7 }

// Column is a column of the dataset query.
type Column struct {
	Name string
	Type types.Type
}

// class is how a column lies in a record.
type class uint8

const (
	classF64 class = iota
	classF32
	classI64 // int8, fixed numerics, times and timestamps
	classI32 // int4, date
	classI16
	classU32 // oid
	classBool
	classFixed // uuid, interval, timetz: variable bytes of constant length
	classText
	classBytes
	classNumeric // variable numeric, normalised
	classArray   // numbers, as float64s
)

func (c class) width() int {
	switch c {
	case classF64, classI64:
		return 8
	case classI16:
		return 2
	case classBool:
		return 1
	}
	return 4 // variable ones keep their length here
}

func (c class) variable() bool { return c >= classFixed }

func classOf(t types.Type) (class, bool) {
	if e, ok := t.Elem(); ok {
		return classArray, e.IsNumber()
	}
	if t.Class() == types.ClassNumeric && !t.IsFixed() {
		return classNumeric, true
	}
	c, ok := formClasses[t.Form()]
	return c, ok
}

// formClasses are the classes of the forms of columns that a record may have.
var formClasses = map[types.Form]class{types.FormBool: classBool, types.FormInt16: classI16, types.FormInt32: classI32, types.FormInt64: classI64,
	types.FormUint32: classU32, types.FormFloat32: classF32, types.FormFloat64: classF64, types.FormFixed12: classFixed, types.FormFixed16: classFixed,
	types.FormString: classText, types.FormBinary: classBytes}

const nullsAt = block.HashBytes // after the row's hash

// Layout is the form of the records of a list of columns. It is immutable.
type Layout struct {
	Cols    []Column
	classes []class
	at      []int   // offset of each column's slot
	vars    []int   // variable columns, ascending
	fixed   int     // bytes up to the variable part: a record's length where vars is empty
	runs    [][]int // of float4 columns whose slots follow each other
	coded   coded   // of a CodedLayout, which has no columns
}

// NewLayout makes the layout of cols; 0A000 for a type that cannot be in a
// dataset.
func NewLayout(cols []Column) (*Layout, error) {
	l := &Layout{Cols: cols, classes: make([]class, len(cols)), at: make([]int, len(cols))}
	pos := nullsAt + l.fixedNulls()
	for i, c := range cols {
		k, ok := classOf(c.Type)
		if !ok {
			return nil, pgerr.Unsupported("column %q of a training query has a type that models cannot use", c.Name).OnColumn(c.Name)
		}
		l.classes[i] = k
		if k.variable() {
			l.vars = append(l.vars, i)
		}
	}
	for _, w := range []int{8, 4, 2, 1} {
		var run []int
		for i, k := range l.classes {
			if k.width() != w {
				continue
			}
			l.at[i] = pos
			pos += w
			if k == classF32 {
				run = append(run, i)
			} else if len(run) > 0 {
				l.runs, run = append(l.runs, run), nil
			}
		}
		if len(run) > 0 {
			l.runs = append(l.runs, run)
		}
	}
	l.fixed = (pos + 7) &^ 7
	return l, nil
}

// fixedNulls is the length of the NULL bits, a multiple of eight bytes.
func (l *Layout) fixedNulls() int { return (len(l.Cols) + 63) / 64 * 8 }

// whole cuts b to the record it starts with.
func (l *Layout) whole(b []byte) []byte {
	n, _ := l.recordLen(b)
	return b[:n]
}
