package model

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Series returns for each row, which is a series, what the model says of it, as a column of float8[]. The columns are arrays of the
// times, in order, of the values and of what regressors add, each NULL for none; what is asked; and the training's options as
// JSON. Asked is either
//
//	0, horizon                           ─▶ by time the mean, the standard deviation and the probability of an anomaly
//	1, horizon, folds, step, confidence  ─▶ the sums of a backtest
//
// Times more than horizon steps after the end have nothing; of 0 all have something.
func (s *Scorer) Series(ctx context.Context, cols []arrow.Array, n int) (arrow.Array, error) {
	p, ok := s.m.Predictor.(family.SeriesReader)
	if !ok || len(cols) < 5 {
		return nil, pgerr.Unsupported("a %s continues no series", s.m.Algorithm)
	}
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Float64)
	to := b.ValueBuilder().(*array.Float64Builder)
	for i := range n {
		asked := floatsAt(cols[3], i)
		if cols[0].IsNull(i) || len(asked) < 2 {
			b.AppendNull()
			continue
		}
		r := &family.SeriesRows{}
		if err := times(r, cols[0], i); err != nil {
			return nil, err
		}
		r.Values, r.Effects = floatsAt(cols[1], i), floatsAt(cols[2], i)
		if len(r.Values) != len(r.Times) && r.Values != nil || len(r.Effects) != len(r.Times) && r.Effects != nil {
			return nil, pgerr.Internal("the arrays of a series are not of one length")
		}
		if text, ok := types.DatumAt(types.Text, cols[4], i).(string); ok {
			var err error
			if r.Options, err = argsOf(text); err != nil {
				return nil, err
			}
		}
		var out []float64
		var err error
		if asked[0] == 1 && len(asked) == 5 {
			out, err = p.Backtest(ctx, r, family.Folds{Horizon: int(asked[1]), Folds: int(asked[2]), Step: int(asked[3]), Confidence: asked[4]})
		} else {
			out, err = expected(ctx, p, r, int(asked[1]))
		}
		if err != nil {
			return nil, err
		}
		b.Append(true)
		to.AppendValues(out, nil)
	}
	return b.NewArray(), nil
}

// SeriesBytes is about what Series needs: of each step its numbers, and what fitting it takes.
func SeriesBytes(cols []arrow.Array) int64 {
	if l, ok := cols[0].(*array.List); ok {
		return 400 * int64(l.ListValues().Len())
	}
	return 0
}

// expected lists what is expected of rows.
func expected(ctx context.Context, p family.SeriesReader, r *family.SeriesRows, horizon int) ([]float64, error) {
	mean, sd, err := p.Expect(ctx, r, horizon)
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, 3*len(mean))
	for i, m := range mean {
		share := math.NaN()
		if r.Values != nil {
			switch d := math.Abs(r.Values[i] - m); {
			case sd[i] > 0:
				share = math.Erf(d / float64(sd[i]*math.Sqrt2))
			case d == 0: // and nothing varies
				share = 0
			case d > 0:
				share = 1
			}
		}
		out = append(out, m, sd[i], share)
	}
	return out, nil
}

// floatsAt returns an array of row i, NaN for NULL; nil for no array.
func floatsAt(col arrow.Array, i int) []float64 {
	l, ok := col.(*array.List)
	if !ok || col.IsNull(i) {
		return nil
	}
	v, ok := l.ListValues().(*array.Float64)
	if !ok {
		return nil
	}
	from, end := l.ValueOffsets(i)
	out := make([]float64, 0, end-from)
	for k := from; k < end; k++ {
		if x := v.Value(int(k)); v.IsNull(int(k)) {
			out = append(out, math.NaN())
		} else {
			out = append(out, x)
		}
	}
	return out
}

// times reads those of row i.
func times(r *family.SeriesRows, col arrow.Array, i int) error {
	l, ok := col.(*array.List)
	if !ok {
		return pgerr.Internal("the times of a series are %s", col.DataType())
	}
	from, end := l.ValueOffsets(i)
	r.Times = make([]int64, 0, end-from)
	for k := from; k < end; k++ {
		t, ok := types.DatumAt(types.Int8, l.ListValues(), int(k)).(int64)
		if !ok {
			return pgerr.New(pgerr.NullValueNotAllowed, "a row of a series has no time").WithHint("Leave such rows out: WHERE … IS NOT NULL.")
		}
		r.Times = append(r.Times, t)
	}
	return nil
}

// argsOf reads options as a statement has them: pairs of a name and the text of a value.
func argsOf(text string) (out []family.Arg, err error) {
	var pairs [][2]string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return nil, pgerr.Internal("the options of a model are not JSON: %v", err)
	}
	for _, p := range pairs {
		a := family.Arg{Name: p[0], Value: p[1]}
		if n, err := strconv.ParseInt(p[1], 10, 64); err == nil {
			a.Value = n
		} else if inner, ok := strings.CutPrefix(p[1], "'"); ok {
			a.Value = strings.ReplaceAll(strings.TrimSuffix(inner, "'"), "''", "'")
		}
		out = append(out, a)
	}
	return out, nil
}
