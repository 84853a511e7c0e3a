package forecast

import (
	"cmp"
	"context"
	"math"
	"sort"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// mostSteps is the length of the longest series.
const mostSteps = 1 << 22

// pairs are times and values of rows, by time and then by value.
type pairs struct {
	Times  []int64
	Values []float64
	x      []float64 // regressors, row by row
}

// pairBytes is the memory of a pair, and regressorBytes that of a regressor beside it.
const (
	pairBytes      = 16
	regressorBytes = 8
)

// Encode implements family.Message.
func (p *pairs) Encode(e *canon.E) {
	if canon.Put(e, p); len(p.x) > 0 {
		e.F64s(p.x)
	}
}

// width is how many regressors a row has.
func (p *pairs) width() int {
	if len(p.Times) == 0 {
		return 0
	}
	return len(p.x) / len(p.Times)
}

// Len implements sort.Interface.
func (p *pairs) Len() int { return len(p.Times) }

// Less implements sort.Interface.
func (p *pairs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(p.Times[i], p.Times[j]), cmp.Compare(p.Values[i], p.Values[j])) < 0
}

// Swap implements sort.Interface.
func (p *pairs) Swap(i, j int) {
	p.Times[i], p.Times[j] = p.Times[j], p.Times[i]
	p.Values[i], p.Values[j] = p.Values[j], p.Values[i]
	w := p.width()
	for k := range w {
		p.x[i*w+k], p.x[j*w+k] = p.x[j*w+k], p.x[i*w+k]
	}
}

// merge adds others.
func (p *pairs) merge(o *pairs) (*pairs, error) {
	if len(p.Times)+len(o.Times) > mostSteps {
		return nil, errTooLong()
	}
	p.Times, p.Values, p.x = append(p.Times, o.Times...), append(p.Values, o.Values...), append(p.x, o.x...)
	sort.Sort(p)
	return p, nil
}

// The steps of a training.
const (
	opCollect uint8 = iota // the pairs of all rows
	opTurn                 // nothing of the rows
)

// worker implements family.Worker; it has no state.
type worker struct {
	rows        int64
	time, width int // which parameter is the time, and how many there are beside it
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker: slices that grow hold twice what is in them, and once more while they do.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	if s.Op == opTurn {
		return 0, 0
	}
	n := 2 * (pairBytes + regressorBytes*int64(w.width)) * min(w.rows, mostSteps)
	return n, n
}

// NewPass implements family.Worker.
func (w *worker) NewPass(*family.Step) (family.Pass, error) { return &pass{w: w}, nil }

// pass implements family.Pass.
type pass struct {
	w   *worker
	got pairs
}

// Add implements family.Pass.
func (a *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if b == nil {
		return nil
	}
	n := min(r.To, b.Rows)
	if len(a.got.Times)+n-r.From > mostSteps {
		return errTooLong()
	}
	for i := r.From; i < n; i++ {
		t := b.Value(i, a.w.time)
		switch {
		case t != t:
			return pgerr.New(pgerr.NullValueNotAllowed, "a row of a series has no time").WithHint("Leave such rows out: WHERE … IS NOT NULL.")
		case math.Abs(t) > 1<<53 || t != math.Trunc(t):
			return pgerr.New(pgerr.InvalidParameterValue, "a time of a series is too large").WithHint("Times are integers up to 2^53, dates, or timestamps of the years 1685 to 2255.")
		}
		a.got.Times, a.got.Values = append(a.got.Times, int64(t)), append(a.got.Values, b.Y[i])
		if err := a.regressors(b, i); err != nil {
			return err
		}
	}
	return nil
}

// regressors adds those of row i: the numbers, and 1 for the category that it has.
func (a *pass) regressors(b *block.Block, i int) error {
	if a.w.width == 0 {
		return nil
	}
	from := len(a.got.x)
	for j := range b.Dense {
		if j == a.w.time {
			continue
		}
		v := b.Value(i, j)
		if v-v != 0 {
			return pgerr.New(pgerr.NullValueNotAllowed, "a row of a series has a regressor that is NULL or not finite").WithHint("Leave such rows out, or say what stands there: coalesce(…).")
		}
		a.got.x = append(a.got.x, v)
	}
	a.got.x = append(a.got.x, make([]float64, from+a.w.width-len(a.got.x))...)
	for j := range b.Codes {
		if code := b.CodeAt(i, j); code >= 0 {
			a.got.x[from+b.Dense-1+int(code)] = 1
		}
	}
	return nil
}

// Partial implements family.Pass.
func (a *pass) Partial() family.Message {
	p := a.got
	a.got = pairs{}
	sort.Sort(&p)
	return &p
}

func errTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "a series has more than %d steps", mostSteps).
		WithHint("Sum up in longer steps, begin later, or name the columns that tell series apart: GROUP BY store, item.")
}
