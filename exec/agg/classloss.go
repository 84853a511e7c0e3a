package agg

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/types"
)

// classLoss is log_loss of any number of classes: the mean of −log of the predicted probability of
// a row's label. A label that is none of the classes has probability 2^-52.
type classLoss struct {
	ofLabels
	s     []exact.Losses
	class []int32 // of each label: its place among the classes from 1, -1 for none; 0 not looked up
	few   *classRows
}

// classRows are so many rows of a batch that they stay in the nearest cache.
type classRows struct {
	p, loss [f64.LossRows]float64 // predicted probabilities of the labels, and losses
	hit     [f64.LossRows]uint32  // zeros: all are of the class that p is of
	group   [f64.LossRows]uint32
}

func (c *classLoss) Resize(groups int) { c.s = grown(c.s, groups) }

func (c *classLoss) Update(groups []uint32, args []arrow.Array) error {
	if c.few == nil {
		c.few = new(classRows)
	}
	label, given, classes := c.truth(args[0]), args[1].(*array.List), args[2].(*array.List)
	c.class = grown(c.class, len(c.labels.keys))
	nulls := args[0].NullN()+given.NullN()+classes.NullN() > 0
	one := len(groups) > 0 && same(groups)
	for at := 0; at < len(groups); at += f64.LossRows {
		n := c.gather(groups, label, args, nulls, at, min(at+f64.LossRows, len(groups)))
		loss := c.few.loss[:n]
		f64.LabelEntropy(loss, c.few.p[:n], c.few.hit[:n], 0)
		if one {
			c.s[groups[0]].AddAll(loss)
			continue
		}
		for i, g := range c.few.group[:n] {
			c.s[g].Add(loss[i])
		}
	}
	return nil
}

// gather collects the predicted probabilities of the labels of rows [from, to), and returns how
// many of the rows count.
func (c *classLoss) gather(groups, label []uint32, args []arrow.Array, nulls bool, from, to int) (n int) {
	given, classes := args[1].(*array.List), args[2].(*array.List)
	vals := given.ListValues().(*array.Float64).Float64Values()
	offs := given.Offsets()[given.Data().Offset():] // whatever the slice
	few := c.few
	for i := from; i < to; i++ {
		if nulls && (args[0].IsNull(i) || given.IsNull(i) || classes.IsNull(i)) {
			continue
		}
		l := label[i]
		if c.class[l] == 0 {
			c.class[l] = c.place(args[0], classes, i)
		}
		few.p[n], few.group[n] = 0, groups[i]
		if k := c.class[l]; k > 0 && offs[i]+k <= offs[i+1] {
			few.p[n] = vals[offs[i]+k-1]
		}
		n++
	}
	return n
}

// place finds the label of row i among the classes, which are texts.
func (c *classLoss) place(label arrow.Array, classes *array.List, i int) int32 {
	text := types.TextOf(c.typ, types.DatumAt(c.typ, label, i), types.DefaultEnv)
	from, to := classes.ValueOffsets(i)
	all := classes.ListValues().(*array.String)
	for k := from; k < to; k++ {
		if all.IsValid(int(k)) && all.Value(int(k)) == text {
			return int32(k-from) + 1
		}
	}
	return -1
}

func (c *classLoss) MergeStates(groups []uint32, states *array.Binary) error {
	var one exact.Losses
	for i, g := range groups {
		if states.IsNull(i) {
			continue
		}
		b := states.Value(i)
		if len(b) != exact.LossesBytes {
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
	n := int64(cap(c.s))*int64(unsafe.Sizeof(exact.Losses{})) + 4*int64(cap(c.class)) + c.labels.bytes
	if c.few != nil {
		n += int64(unsafe.Sizeof(*c.few))
	}
	return n
}
