package agg

import (
	"strconv"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// classLoss is log_loss of any number of classes: the mean of −log of the predicted probability of
// a row's label. A label that is none of the classes has probability 2^-52.
type classLoss struct {
	ofLabels
	top    bool // top_k_accuracy: the share of rows whose label is among the likeliest classes, as many as the last argument says
	binary bool // the prediction is the probability of the second of two classes
	s      []exact.Losses
	class  []int32 // of each label: its place among the classes from 1, -1 for none; 0 not looked up
	few    *classRows
}

// classRows are so many rows of a batch that they stay in the nearest cache.
type classRows struct {
	p, loss [f64.LossRows]float64 // predicted probabilities of the labels, and losses
	hit     [f64.LossRows]uint32  // 0: of the class that p is of
	group   [f64.LossRows]uint32
}

func (c *classLoss) Resize(groups int) { c.s = grown(c.s, groups) }

func (c *classLoss) Update(groups []uint32, args []arrow.Array) error {
	if c.few == nil {
		c.few = new(classRows)
	}
	label := c.truth(args[0])
	c.class = grown(c.class, len(c.labels.keys))
	nulls := args[0].NullN()+args[1].NullN()+args[2].NullN() > 0
	if c.top {
		return c.tops(groups, label, args)
	}
	gather := c.gather
	if c.binary {
		gather = c.gatherBinary
	}
	one := len(groups) > 0 && same(groups)
	for at := 0; at < len(groups); at += f64.LossRows {
		n, err := gather(groups, label, args, nulls, at, min(at+f64.LossRows, len(groups)))
		if err != nil {
			return err
		}
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
func (c *classLoss) gather(groups, label []uint32, args []arrow.Array, nulls bool, from, to int) (n int, err error) {
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
		for _, p := range vals[offs[i]:offs[i+1]] {
			if !probable(p) {
				return 0, errImprobable(p)
			}
		}
		few.p[n], few.group[n] = 0, groups[i]
		if k := c.class[l]; k > 0 && offs[i]+k <= offs[i+1] {
			few.p[n] = vals[offs[i]+k-1]
		}
		n++
	}
	return n, nil
}

// tops adds 1 for each row whose label is among the likeliest classes, else 0. Of equal
// probabilities the class that comes first is the likelier.
func (c *classLoss) tops(groups, label []uint32, args []arrow.Array) error {
	given, classes, most := args[1].(*array.List), args[2].(*array.List), args[3].(*array.Int32)
	vals := given.ListValues().(*array.Float64).Float64Values()
	for i, g := range groups {
		if args[0].IsNull(i) || given.IsNull(i) || classes.IsNull(i) || most.IsNull(i) {
			continue
		}
		k := most.Value(i)
		if k < 1 {
			return pgerr.New(pgerr.InvalidParameterValue, "top_k_accuracy needs a number of classes above 0, not %d", k)
		}
		l := label[i]
		if c.class[l] == 0 {
			c.class[l] = c.place(args[0], classes, i)
		}
		from, to := given.ValueOffsets(i)
		hit, at := 0.0, from+int64(c.class[l])-1
		if c.class[l] > 0 && at < to {
			before := int32(0)
			for j := from; j < to; j++ {
				if vals[j] > vals[at] || vals[j] == vals[at] && j < at {
					before++
				}
			}
			if before < k {
				hit = 1
			}
		}
		c.s[g].Add(hit)
	}
	return nil
}

// gatherBinary is gather of probabilities of the second of two classes.
func (c *classLoss) gatherBinary(groups, label []uint32, args []arrow.Array, nulls bool, from, to int) (n int, err error) {
	given, classes := args[1].(*array.Float64), args[2].(*array.List)
	few := c.few
	for i := from; i < to; i++ {
		if nulls && (args[0].IsNull(i) || given.IsNull(i) || classes.IsNull(i)) {
			continue
		}
		l, p := label[i], given.Value(i)
		if c.class[l] == 0 {
			c.class[l] = c.place(args[0], classes, i)
		}
		if !probable(p) {
			return 0, errImprobable(p)
		}
		few.p[n], few.group[n], few.hit[n] = p, groups[i], 0
		switch c.class[l] {
		case 1:
			few.hit[n] = 1
		case 2:
		default:
			few.p[n] = 0
		}
		n++
	}
	return n, nil
}

// probable reports whether p may be a probability, but for rounding errors; NaN may, of which
// losses are NaN.
func probable(p float64) bool { return !(p < -0x1p-40 || p > 1+0x1p-40) }

func errImprobable(p float64) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "%s is not a probability", strconv.FormatFloat(p, 'g', -1, 64)).
		WithHint("log_loss needs probabilities, from 0 to 1, such as those of predict_proba.")
}

// place finds the label of row i among the classes, which are texts.
func (c *classLoss) place(label arrow.Array, classes *array.List, i int) int32 {
	value := types.DatumAt(c.typ, label, i)
	text := types.TextOf(c.typ, value, types.DefaultEnv)
	if b, ok := value.(bool); ok { // as a cast to text writes it, and models name their classes
		text = strconv.FormatBool(b)
	}
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
	for g, b := range stored(groups, states) {
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
