package pmml

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// column writes a column and its encoder's derived fields.
func (d *document) column(c *feature.FitCol, narrow bool) error {
	switch c.Encoder {
	case feature.OneHot, feature.Ordinal, feature.TargetEncode:
		return d.category(c, narrow)
	case feature.Array, feature.PlainArray:
		d.array(c, narrow)
		return nil
	case feature.Bucketize, feature.QuantileBucketize:
		d.input(c.Name, "continuous", "double", false)
		d.bucket(c)
		return nil
	case feature.Dates:
		dataType := "dateTime"
		if c.Type.OID == types.DateOID {
			dataType = "date"
		}
		d.input(c.Name, "continuous", dataType, false)
		days := d.days(c)
		d.number(c, days, narrow)
		d.parts(c, days)
		return nil
	case feature.Plain, feature.Standard, feature.MinMax, feature.MaxAbs, feature.Robust:
		d.input(c.Name, "continuous", "double", true)
		d.number(c, c.Name, narrow)
		return nil
	}
	return pgerr.Unsupported("the encoder %v of column %q is not supported in pmml files", c.Encoder, c.Name).WithHint("The format json takes every model.")
}

// input writes a column. With finite, infinities are missing.
func (d *document) input(name, kind, dataType string, finite bool) {
	d.inputs = append(d.inputs, name)
	d.fields.open("DataField", "name", name, "optype", kind, "dataType", dataType)
	if finite {
		d.finite = append(d.finite, name)
		d.fields.empty("Interval", "closure", "closedClosed", "leftMargin", number(-math.MaxFloat64), "rightMargin", number(math.MaxFloat64))
	}
	d.fields.close("DataField")
}

// add makes a field the next of the encoders' numbers; what is computed is rounded to float32 where the
// model's numbers are.
func (d *document) add(name string, e expression, narrow bool) {
	dataType := "double"
	if narrow {
		dataType = "float"
	}
	d.dense = append(d.dense, d.derive(name, "continuous", dataType, e))
}

// missing is 1 where a field is missing, and otherwise 0.
func missing(of string) expression {
	return apply("if", apply("isMissing", field(of)), constant(1), constant(0))
}

// filled is a field, or another number where it is missing; NaN leaves it missing.
func filled(of string, fill float64) expression {
	if fill != fill {
		return field(of)
	}
	return apply("if", apply("isMissing", field(of)), constant(fill), field(of))
}

// number encodes a field that is a number.
func (d *document) number(c *feature.FitCol, of string, narrow bool) {
	e := filled(of, c.Fill)
	name := "filled(" + c.Name + ")"
	if len(c.Center) > 0 {
		name = "scaled(" + c.Name + ")"
		e = apply("*", apply("-", e, constant(c.Center[0])), constant(1/c.Scale[0]))
	}
	if len(c.Center) == 0 && c.Fill != c.Fill && !narrow {
		d.dense = append(d.dense, of)
	} else {
		d.add(name, e, narrow)
	}
	if c.Indicator {
		d.add("missing("+c.Name+")", missing(of), false)
	}
}

// array writes a column of an array as a column an element, counted from 1.
func (d *document) array(c *feature.FitCol, narrow bool) {
	all := make([]expression, c.Dim)
	for j := range c.Dim {
		in := d.name(fmt.Sprintf("%s[%d]", c.Name, j+1))
		d.input(in, "continuous", "double", false)
		all[j] = apply("isMissing", field(in))
		if len(c.Center) == 0 {
			d.number(&feature.FitCol{Column: c.Column, Fill: math.NaN()}, in, narrow)
			continue
		}
		e := filled(in, c.Center[j])
		if c.Encoder == feature.Array {
			e = apply("/", apply("-", e, constant(c.Center[j])), constant(c.Scale[j]))
		}
		d.add("scaled("+in+")", e, narrow)
	}
	if c.Indicator { // NULL is missing in all elements
		both := all[0]
		for _, e := range all[1:] {
			both = apply("and", both, e)
		}
		d.add("missing("+c.Name+")", apply("if", both, constant(1), constant(0)), false)
	}
}

// code adds a field of slots; of a column that says nothing it is always missing.
func (d *document) code(c *feature.FitCol, name string, slots int, e expression) {
	if c.Silent() {
		e = func(m *markup) { m.empty("Constant", "dataType", "integer", "missing", "true") }
	}
	d.codes = append(d.codes, code{d.derive(name, "categorical", "integer", e), slots})
}

// bucket writes the interval that a number is in.
func (d *document) bucket(c *feature.FitCol) {
	slots := len(c.Bounds) + 1
	var null []string
	if c.NullSlot {
		null = []string{"mapMissingTo", strconv.Itoa(slots)}
		slots++
	}
	d.code(c, "interval("+c.Name+")", slots, func(m *markup) {
		m.open("Discretize", append([]string{"field", c.Name, "dataType", "integer"}, null...)...)
		for k := range len(c.Bounds) + 1 {
			ends := []string{"closure", "closedOpen"}
			if k > 0 {
				ends = append(ends, "leftMargin", number(c.Bounds[k-1]))
			}
			if k < len(c.Bounds) {
				ends = append(ends, "rightMargin", number(c.Bounds[k]))
			}
			if len(ends) == 2 {
				ends = append(ends, "leftMargin", number(-math.MaxFloat64))
			}
			m.open("DiscretizeBin", "binValue", strconv.Itoa(k))
			m.empty("Interval", ends...)
			m.close("DiscretizeBin")
		}
		m.close("Discretize")
	})
}

// category writes the number of a category.
func (d *document) category(c *feature.FitCol, narrow bool) error {
	if c.Dim > 0 && c.Encoder == feature.OneHot {
		return pgerr.Unsupported("column %q has more categories than it tells apart: what the others share is not supported in pmml files", c.Name).
			WithHint("Let all have their own, by ml.one_hot_encoder(column, top_k => n), or fewer in the query.")
	}
	dataType := "string"
	switch {
	case c.Type.OID == types.BoolOID:
		dataType = "boolean"
	case c.Type.OID == types.Int2OID, c.Type.OID == types.Int4OID:
		dataType = "integer"
	case c.Type.IsNumber():
		dataType = "double"
	}
	d.input(c.Name, "categorical", dataType, false)
	texts := make([]string, len(c.Cats))
	for k, key := range c.Cats {
		texts[k] = feature.KeyText(c.Type, key)
	}
	if c.Encoder == feature.TargetEncode { // those of no category come first
		rows := c.Numbers()
		for j := range c.Dim {
			out := make([]string, len(texts))
			for k := range texts {
				out[k] = number(rows[(k+1)*c.Dim+j])
			}
			d.add(fmt.Sprintf("target %d(%s)", j+1, c.Name), func(m *markup) {
				table(m, c.Name, "double", texts, out, "mapMissingTo", number(rows[j]), "defaultValue", number(rows[j]))
			}, narrow)
		}
		return nil
	}
	if c.Encoder == feature.Ordinal {
		e := lookUp(c.Name, "double", texts, 1, "mapMissingTo", "0", "defaultValue", "0")
		if c.Silent() {
			e = constant(0)
		}
		d.add("number("+c.Name+")", e, narrow)
		return nil
	}
	slots := len(c.Cats)
	var null []string
	if c.NullSlot {
		null = []string{"mapMissingTo", strconv.Itoa(slots)}
		slots++
	}
	d.code(c, "category("+c.Name+")", slots, lookUp(c.Name, "integer", texts, 0, null...))
	return nil
}

// lookUp is the number of a field's value in a list, which counts from first on.
func lookUp(of, dataType string, texts []string, first int, attrs ...string) expression {
	return func(m *markup) {
		out := make([]string, len(texts))
		for k := range texts {
			out[k] = strconv.Itoa(first + k)
		}
		table(m, of, dataType, texts, out, attrs...)
	}
}

// table writes what each value of a field becomes.
func table(m *markup, of, dataType string, in, out []string, attrs ...string) {
	m.open("MapValues", append([]string{"outputColumn", "out", "dataType", dataType}, attrs...)...)
	m.empty("FieldColumnPair", "field", of, "column", "in")
	m.open("InlineTable")
	for k, text := range in {
		m.open("row")
		m.leaf("in", text)
		m.leaf("out", out[k])
		m.close("row")
	}
	m.close("InlineTable")
	m.close("MapValues")
}

// days adds the days since 1970 of a date or timestamp.
func (d *document) days(c *feature.FitCol) string {
	e := apply("dateDaysSinceYear", field(c.Name), whole(1970))
	if c.Type.OID != types.DateOID {
		e = apply("/", apply("dateSecondsSinceYear", field(c.Name), whole(1970)), constant(86400))
	}
	return d.derive("days("+c.Name+")", "continuous", "double", e)
}

// parts adds the slots of the month, weekday and hour of a number of days. The month is that of the civil
// calendar (Hinnant, "chrono-compatible low-level date algorithms", 2014).
func (d *document) parts(c *feature.FitCol, days string) {
	two := func(op string, x expression, by float64) expression { return apply(op, x, constant(by)) }
	div := func(x expression, by float64) expression { return apply("floor", two("/", x, by)) }
	rest := func(x expression, by float64) expression { return apply("-", x, two("*", div(x, by), by)) }
	put := func(name string, e expression) expression {
		return field(d.derive(name+"("+c.Name+")", "continuous", "double", e))
	}
	day := put("day", apply("floor", field(days)))
	cycle := put("day of 400 years", rest(two("+", day, 719468), 146097))
	year := put("year of 400", div(apply("-", apply("+", apply("-", cycle, div(cycle, 1460)), div(cycle, 36524)), div(cycle, 146096)), 365))
	march := put("day from March", apply("-", cycle, apply("-", apply("+", two("*", year, 365), div(year, 4)), div(year, 100))))
	month := div(two("+", two("*", march, 5), 2), 153)
	d.code(c, "month("+c.Name+")", 12, apply("if", two("lessThan", month, 10), two("+", month, 2), two("-", month, 10)))
	d.code(c, "weekday("+c.Name+")", 7, rest(two("+", day, 3), 7)) // Monday is 0
	if c.Type.OID != types.DateOID {
		d.code(c, "hour("+c.Name+")", 24, apply("min", div(two("*", apply("-", field(days), day), 24), 1), constant(23)))
	}
}
