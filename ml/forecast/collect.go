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
}

// pairBytes is the memory of a pair.
const pairBytes = 16

// Encode implements family.Message.
func (p *pairs) Encode(e *canon.E) { canon.Put(e, p) }

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
}

// merge adds others.
func (p *pairs) merge(o *pairs) (*pairs, error) {
	if len(p.Times)+len(o.Times) > mostSteps {
		return nil, errTooLong()
	}
	p.Times, p.Values = append(p.Times, o.Times...), append(p.Values, o.Values...)
	sort.Sort(p)
	return p, nil
}

// The steps of a training.
const (
	opCollect uint8 = iota // the pairs of all rows
	opTurn                 // nothing of the rows
)

// worker implements family.Worker; it has no state.
type worker struct{ rows int64 }

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker: slices that grow hold twice what is in them, and once more while they do.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	if s.Op == opTurn {
		return 0, 0
	}
	n := 2 * pairBytes * min(w.rows, mostSteps)
	return n, n
}

// NewPass implements family.Worker.
func (w *worker) NewPass(*family.Step) (family.Pass, error) { return &pass{}, nil }

// pass implements family.Pass.
type pass struct{ got pairs }

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
		t := b.Value(i, 0)
		switch {
		case t != t:
			return pgerr.New(pgerr.NullValueNotAllowed, "a row of a series has no time").WithHint("Leave such rows out: WHERE … IS NOT NULL.")
		case math.Abs(t) > 1<<53 || t != math.Trunc(t):
			return pgerr.New(pgerr.InvalidParameterValue, "a time of a series is too large").WithHint("Times are integers up to 2^53, dates, or timestamps of the years 1685 to 2255.")
		}
		a.got.Times, a.got.Values = append(a.got.Times, int64(t)), append(a.got.Values, b.Y[i])
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
