package order_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// summer is a trainer of groups that adds up their rows.
type summer struct {
	rows, sum int64
}

func (s *summer) Add(_ context.Context, b *batch.Batch, from, to int) error {
	for i := from; i < to; i++ {
		s.rows++
		if v, ok := types.DatumAt(types.Int8, b.Cols[0], i).(int64); ok {
			s.sum += v
		}
	}
	return nil
}

func (s *summer) End(context.Context) ([]byte, error) {
	out := fmt.Appendf(nil, "%d rows, %d", s.rows, s.sum)
	s.rows, s.sum = 0, 0
	return out, nil
}

func (s *summer) Close() error { return nil }

// TestTrainGroups: each group gets all of its rows, once, however rows come, with helpers where the sort spills.
func TestTrainGroups(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, c := range []struct {
		rows, groups int
		budget       int64
	}{{0, 1, 0}, {1, 1, 0}, {500, 30, 0}, {60000, 2000, 3 << 20}, {90000, 2, 3 << 20}, {60000, 60000, 6 << 20}} {
		t.Run(fmt.Sprintf("%d rows, %d groups", c.rows, c.groups), func(t *testing.T) {
			tb := optest.Table{Types: []types.Type{types.Int8, types.Text, types.Int8, types.Text}}
			sums := map[[2]any]*summer{}
			for i := range c.rows {
				k := r.Intn(c.groups)
				key := [2]any{int64(k / 3), fmt.Sprint("k", k%3)}
				if k%5 == 0 {
					key[0] = nil
				}
				if sums[key] == nil {
					sums[key] = &summer{}
				}
				sums[key].rows++
				sums[key].sum += int64(i)
				tb.Rows = append(tb.Rows, types.Row{int64(i), "what rows have besides their keys", key[0], key[1]})
			}
			var want []types.Row
			for key, s := range sums {
				b, _ := s.End(context.Background())
				want = append(want, types.Row{key[0], key[1], b})
			}
			keys := []types.Type{types.Int8, types.Text}
			optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: append(slices.Clone(keys), types.Bytea), Want: want, Spills: c.budget > 0, Budget: c.budget,
				Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					cfg := order.Config{Types: tb.Types, Keys: optest.Columns(rt.Threads, 2, 3), Specs: []kernel.KeySpec{{Type: keys[0]}, {Type: keys[1]}}, Limit: -1, Split: 2}
					return op.NewTrainGroups(rt, order.NewSort(rt, nil, cfg, in[0]), op.GroupConfig{Keys: keys, Trainer: func() (op.GroupTrainer, error) { return &summer{}, nil }})
				}})
		})
	}
}
