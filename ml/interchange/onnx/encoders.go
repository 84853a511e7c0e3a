package onnx

import (
	"strconv"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// encoded are the encoders' results.
type encoded struct {
	dense []string // doubles, each of one column or more, in their order
	width int      // of all together
	// codes are columns of int64: a slot, or their number of slots for none.
	codes []code
}

type code struct {
	value string
	slots int
}

// encode writes the encoders of a model.
func (b *builder) encode(f *feature.Fitted) (*encoded, error) {
	e := &encoded{}
	for i := range f.Cols {
		c := &f.Cols[i]
		if err := b.column(e, c); err != nil {
			return nil, err
		}
	}
	e.width = f.Dense
	if f.Narrow {
		for i, v := range e.dense {
			e.dense[i] = b.cast(b.cast(v, tFloat), tDouble)
		}
	}
	return e, nil
}

func (b *builder) column(e *encoded, c *feature.FitCol) error {
	switch c.Encoder {
	case feature.OneHot, feature.Ordinal, feature.TargetEncode:
		return b.category(e, c)
	case feature.Array, feature.PlainArray:
		b.array(e, c)
		return nil
	case feature.Plain, feature.Standard, feature.MinMax, feature.MaxAbs, feature.Robust, feature.Dates, feature.Bucketize, feature.QuantileBucketize:
	default:
		return pgerr.Unsupported("the encoder %v of column %q is not supported in onnx files", c.Encoder, c.Name)
	}
	b.input(c.Name, tDouble, 1)
	if c.Encoder == feature.Bucketize || c.Encoder == feature.QuantileBucketize {
		b.bucket(e, c)
		return nil
	}
	if c.Encoder == feature.Dates {
		b.dates(e, c)
	}
	// What is not finite is missing.
	miss := b.op("IsNaN", []string{b.op("Sub", []string{c.Name, c.Name})})
	v := b.op("Where", []string{miss, b.double(c.Fill), c.Name})
	if len(c.Center) > 0 {
		v = b.op("Mul", []string{b.op("Sub", []string{v, b.double(c.Center[0])}), b.double(1 / c.Scale[0])})
	}
	e.dense = append(e.dense, v)
	if c.Indicator {
		e.dense = append(e.dense, b.cast(miss, tDouble))
	}
	return nil
}

// isNaN tells the rows whose number is missing.
func (b *builder) isNaN(v string) string { return b.op("IsNaN", []string{v}) }

// bucket writes the interval that a number is in.
func (b *builder) bucket(e *encoded, c *feature.FitCol) {
	slots := len(c.Bounds) + 1
	none := slots
	if c.NullSlot {
		slots++
		none = slots
	}
	null := none
	if c.NullSlot {
		null = slots - 1
	}
	var at string
	switch {
	case c.Silent():
		at, null = b.whole(float64(none)), none
	case len(c.Bounds) == 0:
		at = b.whole(0)
	default:
		above := b.op("GreaterOrEqual", []string{c.Name, b.constant(tDouble, []int{1, len(c.Bounds)}, c.Bounds)})
		at = b.sum(b.cast(above, tInt64))
	}
	e.codes = append(e.codes, code{b.op("Where", []string{b.isNaN(c.Name), b.whole(float64(null)), at}), slots})
}

// category writes the number of a category.
func (b *builder) category(e *encoded, c *feature.FitCol) error {
	if c.Dim > 0 && c.Encoder == feature.OneHot {
		return pgerr.Unsupported("column %q has more categories than it tells apart: what the others share is not supported in onnx files", c.Name).
			WithHint("Let all have their own, by ml.one_hot_encoder(column, top_k => n), or fewer in the query.")
	}
	slots := len(c.Cats)
	null := -1
	if c.NullSlot && c.Encoder == feature.OneHot {
		null = slots
		slots++
	}
	none := slots
	if null < 0 {
		null = none
	}
	var at string
	if c.Type.IsNumber() {
		b.input(c.Name, tDouble, 1)
		values, order := make([]float64, len(c.Cats)), make([]float64, len(c.Cats))
		for k, key := range c.Cats {
			v, err := strconv.ParseFloat(feature.KeyText(c.Type, key), 64)
			if err != nil {
				return pgerr.Internal("a category is no number: %v", err)
			}
			values[k], order[k] = v, float64(k+1)
		}
		same := b.cast(b.op("Equal", []string{c.Name, b.constant(tDouble, []int{1, len(values)}, values)}), tInt64)
		next := b.sum(b.op("Mul", []string{same, b.constant(tInt64, []int{1, len(order)}, order)})) // the category from 1, or 0
		at = b.op("Where", []string{b.op("Equal", []string{next, b.whole(0)}), b.whole(float64(none)), b.op("Sub", []string{next, b.whole(1)})})
		at = b.op("Where", []string{b.isNaN(c.Name), b.whole(float64(null)), at})
	} else {
		b.input(c.Name, tText, 1)
		var keys []string
		var values []int64
		empty := false
		for k, key := range c.Cats {
			text := feature.KeyText(c.Type, key)
			empty = empty || text == ""
			keys, values = append(keys, text), append(values, int64(k))
		}
		if !empty {
			keys, values = append(keys, ""), append(values, int64(null))
		}
		at = b.op("ml.LabelEncoder", []string{c.Name}, words("keys_strings", keys), integersOf("values_int64s", values), integer("default_int64", int64(none)))
	}
	if c.Silent() {
		at = b.op("Add", []string{b.op("Mul", []string{at, b.whole(0)}), b.whole(float64(none))})
	}
	if c.Encoder == feature.OneHot {
		e.codes = append(e.codes, code{at, slots})
		return nil
	}
	if c.Encoder == feature.TargetEncode { // those of no category come first
		rows := c.Numbers()
		e.dense = append(e.dense, b.table(tDouble, at, c.Dim, append(rows[c.Dim:], rows[:c.Dim]...)))
		return nil
	}
	// Ordinal: the number from 1, 0 for others and NULL.
	order := make([]float64, none+1)
	for k := range c.Cats {
		order[k] = float64(k + 1)
	}
	e.dense = append(e.dense, b.table(tDouble, at, 1, order))
	return nil
}

// array writes the elements of an array.
func (b *builder) array(e *encoded, c *feature.FitCol) {
	b.input(c.Name, tDouble, c.Dim)
	v := c.Name
	row := func(list []float64) string { return b.constant(tDouble, []int{1, len(list)}, list) }
	if len(c.Center) > 0 {
		missing := b.isNaN(v)
		v = b.op("Where", []string{missing, row(c.Center), v})
		if c.Encoder == feature.Array {
			v = b.op("Div", []string{b.op("Sub", []string{v, row(c.Center)}), row(c.Scale)})
		}
	}
	e.dense = append(e.dense, v)
	if c.Indicator { // NULL is NaN in all elements
		all := b.op("ReduceMin", []string{b.cast(b.isNaN(c.Name), tFloat)}, integersOf("axes", []int64{1}), integer("keepdims", 1))
		e.dense = append(e.dense, b.cast(all, tDouble))
	}
}

// dates writes month, weekday and hour of days since 1970, by the civil calendar (Hinnant, "chrono-compatible
// low-level date algorithms", 2014).
func (b *builder) dates(e *encoded, c *feature.FitCol) {
	miss := b.op("IsNaN", []string{b.op("Sub", []string{c.Name, c.Name})})
	v := b.op("Where", []string{miss, b.double(0), c.Name})
	two := func(op, x string, by float64) string { return b.op(op, []string{x, b.double(by)}) }
	div := func(x string, by float64) string { return b.op("Floor", []string{two("Div", x, by)}) }
	sub := func(x, y string) string { return b.op("Sub", []string{x, y}) }
	add := func(x, y string) string { return b.op("Add", []string{x, y}) }
	day := b.op("Floor", []string{v})
	z := two("Add", day, 719468)
	doe := sub(z, two("Mul", div(z, 146097), 146097)) // the day of a cycle of 400 years
	yoe := div(sub(add(sub(doe, div(doe, 1460)), div(doe, 36524)), div(doe, 146096)), 365)
	doy := sub(doe, sub(add(two("Mul", yoe, 365), div(yoe, 4)), div(yoe, 100))) // of a year from March
	mp := div(two("Add", two("Mul", doy, 5), 2), 153)
	month := b.op("Where", []string{b.op("Less", []string{mp, b.double(10)}), two("Add", mp, 2), two("Sub", mp, 10)}) // from 0
	thursday := two("Add", day, 3)
	weekday := sub(thursday, two("Mul", div(thursday, 7), 7)) // Monday is 0
	put := func(v string, slots int) {
		at := b.cast(v, tInt64)
		none := b.whole(float64(slots))
		if c.Silent() {
			at = none
		}
		e.codes = append(e.codes, code{b.op("Where", []string{miss, none, at}), slots})
	}
	put(month, 12)
	put(weekday, 7)
	if c.Type.OID != types.DateOID {
		hour := b.op("Min", []string{div(two("Mul", sub(v, day), 24), 1), b.double(23)})
		put(hour, 24)
	}
}
