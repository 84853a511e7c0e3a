package setfn

import (
	"context"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/arrayfn"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// AddSeries registers generate_series and generate_subscripts.
func AddSeries(m map[string]function.SetMaker) {
	for _, t := range []string{"int4", "int8"} {
		m["generate_series("+t+","+t+")"] = intSeries
		m["generate_series("+t+","+t+","+t+")"] = intSeries
	}
	m["generate_series(numeric,numeric)"] = numericSeries
	m["generate_series(numeric,numeric,numeric)"] = numericSeries
	m["generate_series(timestamp,timestamp,interval)"] = stampSeries
	m["generate_series(timestamptz,timestamptz,interval)"] = stampSeries
	m["generate_subscripts(anyarray,int4)"] = subscripts
	m["generate_subscripts(anyarray,int4,bool)"] = subscripts
}

func errZeroStep() error {
	return pgerr.New(pgerr.InvalidParameterValue, "step size cannot equal zero")
}

// ints counts from at to stop by step.
type ints struct {
	at, stop, step int64
	end            bool
}

func intSeries(c *function.SetCall, args []types.Datum) (function.Generator, error) {
	g := &ints{at: args[0].(int64), stop: args[1].(int64), step: 1}
	if len(args) == 3 {
		g.step = args[2].(int64)
	}
	if g.step == 0 {
		return nil, errZeroStep()
	}
	return g, nil
}

func (g *ints) Next(_ context.Context, max int, out []array.Builder) (int, error) {
	n := 0
	b4, small := out[0].(*array.Int32Builder)
	b8, _ := out[0].(*array.Int64Builder)
	out[0].Reserve(g.left(max))
	for n < max && !g.end && (g.step > 0 && g.at <= g.stop || g.step < 0 && g.at >= g.stop) {
		if small {
			b4.Append(int32(g.at))
		} else {
			b8.Append(g.at)
		}
		n++
		next := g.at + g.step
		if (g.step > 0) != (next > g.at) {
			g.end = true // the next number would overflow, so stop is reached
		}
		g.at = next
	}
	return n, nil
}

// left returns how many of the next max numbers there are.
func (g *ints) left(max int) int {
	if g.end || g.step > 0 && g.at > g.stop || g.step < 0 && g.at < g.stop {
		return 0
	}
	span, step := uint64(g.stop)-uint64(g.at), uint64(g.step)
	if g.step < 0 {
		span, step = -span, -step
	}
	if steps := span / step; steps < uint64(max) {
		return int(steps) + 1
	}
	return max
}

type decimals struct {
	t              types.Type
	at, stop, step number.Decimal
	end            bool
}

func numericSeries(c *function.SetCall, args []types.Datum) (function.Generator, error) {
	g := &decimals{at: args[0].(number.Decimal), stop: args[1].(number.Decimal), step: number.DecimalFromInt64(1, 0), t: c.Call.Cols[0].Type}
	if len(args) == 3 {
		g.step = args[2].(number.Decimal)
	}
	for i, what := range []string{"start value", "stop value", "step size"} {
		d := []number.Decimal{g.at, g.stop, g.step}[i]
		if d.IsNaN() {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s cannot be NaN", what)
		}
		if !d.IsFinite() {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s cannot be infinity", what)
		}
	}
	if g.step.Sign() == 0 {
		return nil, errZeroStep()
	}
	return g, nil
}

func (g *decimals) Next(_ context.Context, max int, out []array.Builder) (int, error) {
	n := 0
	for n < max && !g.end {
		if c := g.at.Cmp(g.stop); g.step.Sign() > 0 && c > 0 || g.step.Sign() < 0 && c < 0 {
			break
		}
		if err := types.AppendDatum(out[0], g.t, g.at); err != nil {
			return 0, err
		}
		n++
		next, err := g.at.Add(g.step)
		if err != nil {
			return 0, err
		}
		g.at = next
	}
	return n, nil
}

type stamps struct {
	at, stop int64
	step     datetime.Interval
	sign     int
	zone     *time.Location
	end      bool
}

func stampSeries(c *function.SetCall, args []types.Datum) (function.Generator, error) {
	g := &stamps{at: args[0].(int64), stop: args[1].(int64), step: args[2].(datetime.Interval)}
	if c.Types[0].OID == types.TimestamptzOID {
		g.zone = c.Env.Location()
	}
	g.sign = g.step.Cmp(datetime.Interval{})
	if g.sign == 0 {
		return nil, errZeroStep()
	}
	return g, nil
}

func (g *stamps) Next(_ context.Context, max int, out []array.Builder) (int, error) {
	b := out[0].(*array.TimestampBuilder)
	n := 0
	for n < max && !g.end && (g.sign > 0 && g.at <= g.stop || g.sign < 0 && g.at >= g.stop) {
		b.Append(arrow.Timestamp(g.at))
		n++
		if datetime.IsInfTimestamp(g.at) {
			return n, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
		}
		next, err := datetime.TimestampAddInterval(g.at, g.step, g.zone)
		if err != nil {
			return 0, err
		}
		g.at = next
	}
	return n, nil
}

func subscripts(c *function.SetCall, args []types.Datum) (function.Generator, error) {
	a, ok := args[0].(types.Array)
	if !ok || args[1].(int64) != 1 || len(a.Elems) == 0 {
		return nil, nil
	}
	base := arrayfn.LowerBound(c.Types[0])
	g := &ints{at: base, stop: base + int64(len(a.Elems)) - 1, step: 1}
	if len(args) == 3 && args[2].(bool) {
		g.at, g.stop, g.step = g.stop, g.at, -1
	}
	return g, nil
}
