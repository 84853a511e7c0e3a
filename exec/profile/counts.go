package profile

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// Counts are the rows of a data set by the bins of a Profile.
type Counts struct {
	Rows  int64
	bins  []int64   // by column, 256 each
	fresh [][]fresh // by column, ascending by name: the first of the categories that training has not seen
}

// fresh is such a category.
type fresh struct {
	name string
	rows int64
}

const (
	// mostFresh is how many such categories of a column are kept.
	mostFresh = 100
	// mostName is how many bytes of their names are.
	mostName = 64
)

// Reset makes them counts of no rows, of so many columns.
func (c *Counts) Reset(columns int) {
	c.Rows = 0
	if len(c.fresh) != columns {
		*c = Counts{}
		c.make(columns)
	}
	clear(c.bins)
	clear(c.fresh)
}

// Column returns the number of rows in each bin of a column, to be added to.
func (c *Counts) Column(k int) *[256]int64 { return (*[256]int64)(c.bins[256*k:]) }

// AddNew adds a row with a new category of a column, by its name.
func (c *Counts) AddNew(column int, name string) {
	if len(name) > mostName {
		name = name[:mostName]
		for len(name) > 0 && !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
	}
	c.Column(column)[New]++
	c.fresh[column] = with(c.fresh[column], name, 1)
}

func (c *Counts) make(columns int) {
	if c.bins == nil {
		c.bins, c.fresh = make([]int64, 256*columns), make([][]fresh, columns)
	}
}

// with adds rows of a new category. Those with the least names are kept, so it does not matter in which order they come.
func with(list []fresh, name string, rows int64) []fresh {
	at, found := slices.BinarySearchFunc(list, name, func(f fresh, name string) int { return strings.Compare(f.name, name) })
	if found {
		list[at].rows += rows
		return list
	}
	if at == mostFresh {
		return list
	}
	list = slices.Insert(list, at, fresh{name, rows})
	return list[:min(len(list), mostFresh)]
}

// Merge adds those of other rows.
func (c *Counts) Merge(o *Counts) error {
	if o.bins == nil {
		return nil
	}
	if c.bins != nil && len(c.bins) != len(o.bins) {
		return errDamaged()
	}
	c.make(len(o.fresh))
	c.Rows += o.Rows
	for i, n := range o.bins {
		c.bins[i] += n
	}
	for col, list := range o.fresh {
		for _, f := range list {
			c.fresh[col] = with(c.fresh[col], f.name, f.rows)
		}
	}
	return nil
}

// Bytes is about the memory that they take.
func (c *Counts) Bytes() int64 {
	n := int64(64 + 8*len(c.bins) + 24*len(c.fresh))
	for _, list := range c.fresh {
		n += int64(len(list)) * (24 + mostName)
	}
	return n
}

// Append appends the bytes that Take adds.
func (c *Counts) Append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(c.Rows)), uint64(len(c.fresh)))
	for col, list := range c.fresh {
		bins, some := c.Column(col), 0
		for _, n := range bins {
			if n > 0 {
				some++
			}
		}
		b = binary.AppendUvarint(b, uint64(some))
		for bin, n := range bins {
			if n > 0 {
				b = binary.AppendUvarint(append(b, byte(bin)), uint64(n))
			}
		}
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, f := range list {
			b = binary.AppendUvarint(appendText(b, f.name), uint64(f.rows))
		}
	}
	return b
}

// Take adds what Append wrote.
func (c *Counts) Take(b []byte) error {
	r := &reader{b: b}
	rows, n := r.number(), r.count(2)
	if c.bins != nil && n != len(c.fresh) && n > 0 {
		return errDamaged()
	}
	if n > 0 {
		c.make(n)
	}
	c.Rows += rows
	for col := range n {
		bins := c.Column(col)
		for range r.count(2) {
			if bin := r.take(1); bin != nil {
				bins[bin[0]] += r.number()
			}
		}
		for range r.count(2) {
			c.fresh[col] = with(c.fresh[col], r.text(), r.number())
		}
	}
	if r.bad || len(r.b) > 0 {
		return errDamaged()
	}
	return nil
}
