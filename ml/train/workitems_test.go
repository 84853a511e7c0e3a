package train

import (
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
)

// TestMiniBatchConcernsItsLeaves: the step of a mini-batch goes to the workers that have rows of
// it, and to the first one. Each works on its leaves only, numbered by their place in the tree of
// the mini-batch.
func TestMiniBatchConcernsItsLeaves(t *testing.T) {
	rows := []int64{100, 100, 100, 100}
	owners := []int{0, 1, 1, 2}
	job := &Job{Plan: &family.Plan{Scope: family.ByLeaf}, Options: &family.Values{}}
	for step, want := range []struct{ workers, leaves []int }{{[]int{0}, []int{0}}, {[]int{0, 1}, []int{1}}, {[]int{0, 1}, []int{2}}, {[]int{0, 2}, []int{3}}} {
		body := &stepTask{step: &family.Step{Set: family.Train, Batch: &optim.MiniBatch{Step: step, Steps: 4}}, slices: block.BatchSlices(rows, 8, step, 4)}
		task := Task{body: body}
		var workers []int
		for self := range 3 {
			if task.Needs(self, owners) {
				workers = append(workers, self)
			}
			w := &Worker{job: job, owners: owners, cfg: WorkerConfig{Self: self}, ledger: ledger{blocks: &block.Blocks{}}}
			p := &Part{w: w, body: body}
			plan, err := w.cut(p, body)
			if err != nil {
				t.Fatal(err)
			}
			var leaves []int
			for _, it := range p.items {
				if leaves = append(leaves, it.leaf); plan.Home(reduce.Node{Index: int32(it.node)}) != self {
					t.Fatalf("step %d: leaf %d is at another's place", step, it.leaf)
				}
			}
			if owned := owners[want.leaves[0]] == self; owned != slices.Equal(leaves, want.leaves) {
				t.Fatalf("step %d: worker %d works leaves %v", step, self, leaves)
			}
		}
		if !slices.Equal(workers, want.workers) {
			t.Fatalf("step %d is for workers %v", step, workers)
		}
	}
}

// TestSmallLeafIsCut: few rows in one leaf are divided among several goroutines if the family
// allows that, for a mini-batch and for all rows.
func TestSmallLeafIsCut(t *testing.T) {
	blocks := block.NewBlocks(block.Config{Pool: mem.NewPool("items", 0)})
	defer blocks.Close()
	if err := blocks.Put(0, block.New(200, 1, 0, true)); err != nil {
		t.Fatal(err)
	}
	for grain, want := range map[int]int{0: 1, 64: 4} {
		w := &Worker{job: &Job{Plan: &family.Plan{Scope: family.ByLeaf, Grain: grain}, Options: &family.Values{}}, owners: []int{0}, plan: reduce.NewPlan([]int{0}), ledger: ledger{blocks: blocks}}
		for _, body := range []*stepTask{{step: &family.Step{Set: family.Train | family.Held}},
			{step: &family.Step{Set: family.Train, Batch: &optim.MiniBatch{Steps: 1}}, slices: block.BatchSlices([]int64{200}, 8, 0, 1)}} {
			p := &Part{w: w, body: body}
			if _, err := w.cut(p, body); err != nil {
				t.Fatal(err)
			}
			rows := 0
			for _, it := range p.items {
				for _, r := range it.rows {
					rows += r.To - r.From
				}
			}
			if len(p.items) != want || rows != 200 {
				t.Errorf("grain %d: %d items of %d rows", grain, len(p.items), rows)
			}
		}
	}
}

// TestLargePartsComeFirst: the small remainders of leaves in a mini-batch are worked on last, so
// that goroutines end at about the same time.
func TestLargePartsComeFirst(t *testing.T) {
	blocks := block.NewBlocks(block.Config{Pool: mem.NewPool("items", 0)})
	defer blocks.Close()
	rows := []int64{40, 88}
	for leaf, n := range rows {
		if err := blocks.Put(2*leaf, block.New(int(n), 1, 0, true)); err != nil {
			t.Fatal(err)
		}
	}
	w := &Worker{job: &Job{Plan: &family.Plan{Scope: family.ByLeaf, Grain: 32}, Options: &family.Values{}}, owners: []int{0, 0}, ledger: ledger{blocks: blocks}}
	body := &stepTask{step: &family.Step{Set: family.Train, Batch: &optim.MiniBatch{Steps: 1}}, slices: block.BatchSlices(rows, 8, 0, 1)}
	p := &Part{w: w, body: body}
	if _, err := w.cut(p, body); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, it := range p.items {
		sizes = append(sizes, it.size())
	}
	if want := []int{32, 32, 32, 24, 8}; !slices.Equal(sizes, want) {
		t.Errorf("parts of %v rows, not of %v", sizes, want)
	}
}

// TestMiniBatchFromElsewhere: slices from another node that no step can have are refused as damage.
func TestMiniBatchFromElsewhere(t *testing.T) {
	job := &Job{Plan: &family.Plan{}}
	for _, bad := range [][]block.Slice{{{Leaf: 0, From: 8, To: 8}}, {{Leaf: 1, From: 0, To: 8}, {Leaf: 0, From: 0, To: 8}}, {{Leaf: 0, From: 0, To: 7}}, {{Leaf: 0, From: -8, To: 8}}} {
		task := Task{body: &stepTask{step: &family.Step{Batch: &optim.MiniBatch{Steps: 1}}, slices: bad}}
		var e canon.E
		task.body.Encode(&e)
		d := canon.Read(e.B)
		if decodeStep(job, d); d.OK() {
			t.Errorf("%v is taken", bad)
		}
	}
	w := &Worker{job: job, owners: []int{0}, ledger: ledger{blocks: &block.Blocks{}}}
	if _, err := w.cut(&Part{w: w}, &stepTask{step: &family.Step{Batch: &optim.MiniBatch{Steps: 1}}, slices: []block.Slice{{Leaf: 1, To: 8}}}); err == nil {
		t.Error("a leaf that there is not is taken")
	}
}
