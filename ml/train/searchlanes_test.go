package train

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestTrialsSideBySide: trials that run side by side give what they give one after the other, byte for byte, on any
// workers, and from each checkpoint of one way the other goes on.
func TestTrialsSideBySide(t *testing.T) {
	paths := searches[0]
	paths.name, paths.args = "paths", []any{"l2_reg", of(0.0001, 0.01, 1.0), "optimizer", of("lbfgs", "newton"), "fit_intercept", of(true, false), "hparam_tuning_algorithm", "grid", "checkpoint_every", int64(1)}
	paths.readings = 1
	for _, c := range append([]struct {
		name, algorithm string
		classes         int
		readings        int
		args            []any
	}{paths}, searches...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := mixed(500, c.classes, 5)
			alone := searchJob(t, c.algorithm, tb, c.args...)
			beside := searchJob(t, c.algorithm, tb, c.args...)
			alone.search.config.Parallel, beside.search.config.Parallel = 1, 3
			if c.name == "tpe" { // which chooses by it
				alone.search.config.Parallel = 3
			}
			var one, three saver
			s := setup{workers: 1, threads: 1}
			run := func(job *Job, s setup, in Input) (string, int) {
				t.Helper()
				var most atomic.Int64
				s.lanes = &most
				res, _, err := searchTable(t, job, tb, s, in)
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%s\n%x", told(res), res.Model.Encode()), int(most.Load())
			}
			want, n := run(alone, s, Input{Save: &one})
			if n > 1 {
				t.Errorf("trials ran in %d lanes", n)
			}
			for i, s := range []setup{s, {workers: 3, threads: 2, shuffle: 2}, {workers: 2, threads: 1, shuffle: 3, records: true}} {
				in := Input{}
				if i == 0 {
					in.Save = &three
				}
				got, n := run(beside, s, in)
				if got != want {
					t.Errorf("setup %d: another outcome:\n%s\nnot\n%s", i, got, want)
				}
				if one := slices.Contains([]string{"grid", "folds", "folds encoded twice", "tpe", "seeds"}, c.name); n < 2 != one { // those have one path for each encoding
					t.Errorf("setup %d: trials ran in %d lanes", i, n)
				}
			}
			for k, way := range []struct {
				job    *Job
				states [][]byte
			}{{beside, three.states}, {alone, three.states}, {beside, one.states}} {
				step := len(way.states)/3 + 1
				for i := 0; i < len(way.states); i += step {
					if got, _ := run(way.job, setup{workers: 1 + i%2, threads: 1, shuffle: uint64(i)}, Input{Resume: way.states[i]}); got != want {
						t.Errorf("way %d, checkpoint %d of %d: another outcome:\n%s\nnot\n%s", k, i, len(way.states), got, want)
					}
				}
			}
		})
	}
}

// TestLanesWithoutMemory: where there is no memory for several trials at once they run one by one.
func TestLanesWithoutMemory(t *testing.T) {
	tb := mixed(900, 2, 5)
	job := searchJob(t, "gradient_boosted_trees", tb, "max_depth", of(int64(2), int64(3), int64(4)), "n_estimators", int64(3), "max_parallel_trials", int64(3), "hparam_tuning_algorithm", "grid")
	want, _, err := searchTable(t, job, tb, setup{workers: 1, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{2, 0} {
		l, rows := newLocal(t, job, tb, setup{workers: 1, threads: 1})
		got, err := Run(context.Background(), Input{Job: job, Rows: rows}, &poorLanes{l, most})
		if err != nil || told(got) != told(want) || !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
			t.Errorf("memory for %d lanes: %v", most, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// poorLanes has memory for so many lanes.
type poorLanes struct {
	*Local
	most int
}

func (l *poorLanes) Lane(lane int) Reducer {
	if lane > l.most {
		return &outOfMemory{l.Local.Lane(lane)}
	}
	return l.Local.Lane(lane)
}

type outOfMemory struct{ Reducer }

func (o *outOfMemory) Reduce(ctx context.Context, t Task) (family.Message, error) {
	if t.Step() {
		return nil, pgerr.New(pgerr.OutOfMemory, "out of memory")
	}
	return o.Reducer.Reduce(ctx, t)
}
