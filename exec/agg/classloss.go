package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/types"
)

// classLoss is log_loss of any number of classes: the mean of −log of the probability that
// a row's label was given. One that is none of the classes was given none, which counts as
// 2^-52.
type classLoss struct {
	ofLabels
	s     []exact.Sum
	class []int // of each label: its place among the classes from 1, -1 for none; 0 not looked up
	// Of the rows of a batch: what the labels were given, ones, and what is lost.
	p, one, loss []float64
}

func (c *classLoss) Resize(groups int) { c.s = grown(c.s, groups) }

func (c *classLoss) Update(groups []uint32, args []arrow.Array) error {
	label, given, classes := c.truth(args[0]), args[1].(*array.List), args[2].(*array.List)
	vals := given.ListValues().(*array.Float64)
	for n := len(groups); len(c.p) < n; {
		c.p, c.one, c.loss = append(c.p, 0), append(c.one, 1), append(c.loss, 0)
	}
	skips := func(i int) bool { return args[0].IsNull(i) || given.IsNull(i) || classes.IsNull(i) }
	for i := range groups {
		if skips(i) {
			continue
		}
		l := int(label[i])
		if l >= len(c.class) {
			c.class = grown(c.class, l+1)
		}
		if c.class[l] == 0 {
			c.class[l] = c.place(args[0], classes, i)
		}
		c.p[i] = 0
		if at, end := given.ValueOffsets(i); c.class[l] > 0 && at+int64(c.class[l]) <= end {
			c.p[i] = vals.Value(int(at) + c.class[l] - 1)
		}
	}
	f64.CrossEntropy(c.loss[:len(groups)], c.p[:len(groups)], c.one[:len(groups)])
	for i, g := range groups {
		if !skips(i) {
			c.s[g].Add(c.loss[i])
		}
	}
	return nil
}

// place finds the label of row i among the classes, which are texts.
func (c *classLoss) place(label arrow.Array, classes *array.List, i int) int {
	text := types.TextOf(c.typ, types.DatumAt(c.typ, label, i), types.DefaultEnv)
	from, to := classes.ValueOffsets(i)
	all := classes.ListValues().(*array.String)
	for k := from; k < to; k++ {
		if all.IsValid(int(k)) && all.Value(int(k)) == text {
			return int(k-from) + 1
		}
	}
	return -1
}

func (c *classLoss) MergeStates(groups []uint32, states *array.Binary) error {
	var one exact.Sum
	for i, g := range groups {
		if states.IsNull(i) {
			continue
		}
		b := states.Value(i)
		if len(b) != exact.Bytes {
			return badState()
		}
		one.Decode(b)
		c.s[g].Merge(&one)
	}
	return nil
}

// MergeFrom implements Merger.
func (c *classLoss) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*classLoss)
	for i, g := range groups {
		c.s[g].Merge(&o.s[ids[i]])
	}
	return nil
}

func (c *classLoss) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return c.s[g].Append(dst), true }), nil
}

func (c *classLoss) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		if c.s[g].N() == 0 {
			return nil, nil
		}
		return c.s[g].Value() / float64(c.s[g].N()), nil
	})
}

func (c *classLoss) Bytes() int64 {
	return exact.Bytes*int64(cap(c.s)) + 8*int64(cap(c.class)+cap(c.p)+cap(c.one)+cap(c.loss)) + c.labels.bytes
}
