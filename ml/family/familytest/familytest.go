package familytest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// Data are the rows of a training as encoders would give them.
type Data struct {
	X    [][]float64 // by row and number column; NaN is missing
	Code [][]int32   // by row and category column, the category's number, -1 for none; nil for no such columns
	Cats []int       // by category column, how many categories there are
	Y    []float64   // numbers, or numbers of classes; nil for no target
	W    []float64   // nil for 1
	Held []bool      // nil for none
	// Classes is the number of classes of Y, 0 for numbers.
	Classes int
	Seed    uint64
}

// Columns are x0, x1 … and c0, c1 ….
func (d *Data) Columns() (cols []dataset.Column) {
	for j := range d.X[0] {
		cols = append(cols, dataset.Column{Name: fmt.Sprint("x", j), Type: types.Float8})
	}
	for j := range d.Cats {
		cols = append(cols, dataset.Column{Name: fmt.Sprint("c", j), Type: types.Text})
	}
	return cols
}

// Fitted are encoders that leave numbers as they are.
func (d *Data) Fitted(narrow bool) *feature.Fitted {
	f := &feature.Fitted{Narrow: narrow, Dense: len(d.X[0]), Codes: len(d.Cats)}
	for _, c := range d.Columns() {
		fc := feature.FitCol{Column: c, Encoder: feature.Plain, Fill: math.NaN()}
		if c.Type.IsString() {
			fc.Encoder = feature.OneHot
			for k := range d.Cats[len(f.Cols)-len(d.X[0])] {
				fc.Cats = append(fc.Cats, fmt.Sprintf("%04d", k))
			}
			f.Ones += len(fc.Cats)
		}
		f.Cols = append(f.Cols, fc)
	}
	if d.Y != nil {
		f.Label = dataset.Column{Name: "y", Type: types.Float8}
	}
	if d.Classes > 0 {
		f.Label.Type = types.Int8
		for k := range d.Classes {
			f.Keys = append(f.Keys, string([]byte{byte(k), byte(k >> 8), 0, 0, 0, 0, 0, 0}))
		}
	}
	return f
}

// Block makes the block of some rows.
func (d *Data) Block(rows []int, narrow bool) *dataset.Block {
	b := dataset.NewBlock(len(rows), len(d.X[0]), len(d.Cats), narrow)
	for i, r := range rows {
		tile, l := i/f64.Lanes, i%f64.Lanes
		for j, v := range d.X[r] {
			at := (tile*b.Dense+j)*f64.Lanes + l
			if narrow {
				b.X32[at] = float32(v)
			} else {
				b.X64[at] = v
			}
		}
		first := int32(0)
		for j, n := range d.Cats {
			slot := d.Code[r][j]
			if slot >= 0 {
				slot += first
			}
			b.Code[(tile*b.Codes+j)*f64.Lanes+l] = slot
			first += int32(n)
		}
		if d.Y != nil {
			b.Y[i] = d.Y[r]
		}
		if b.W[i] = 1; d.W != nil {
			b.W[i] = d.W[r]
		}
	}
	return b
}

// All is the block of all rows.
func (d *Data) All(narrow bool) *dataset.Block {
	rows := make([]int, len(d.X))
	for i := range rows {
		rows[i] = i
	}
	return d.Block(rows, narrow)
}

// Spread says how a training is spread.
type Spread struct {
	Nodes, Threads int
	LeafRows       int    // 0: 512
	Shuffle        uint64 // of the rows over leaves, where the scope is ByNode; 0: none
	Bytes          bool   // messages travel as bytes
	Resume         bool   // begin anew from the state after every step
	Narrow         bool
}

// Result is a trained model.
type Result struct {
	family.Predictor
	Bytes []byte
	State family.State
	Plan  *family.Plan
	Setup *family.Setup
}

// Options reads name and value pairs as a statement's options would be.
func Options(f family.Family, pairs ...any) (*family.Values, error) {
	var args []family.Arg
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1]
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		args = append(args, family.Arg{Name: pairs[i].(string), Value: v, Pos: 1})
	}
	return family.Read(args, append(append([]*family.Option{}, family.Common...), f.Options()...))
}

type stored struct {
	rows family.Rows
	b    *dataset.Block
}

// Train trains.
func Train(t testing.TB, f family.Family, d *Data, s Spread, options ...any) (*Result, error) {
	t.Helper()
	o, err := Options(f, options...)
	if err != nil {
		return nil, err
	}
	req := &family.Request{Options: o, Columns: d.Columns()}
	fitted := d.Fitted(s.Narrow)
	if d.Y != nil {
		req.Target = &fitted.Label
	}
	plan, err := f.Plan(req)
	if err != nil {
		return nil, err
	}
	set := &family.Setup{Options: o, Plan: plan, Fitted: fitted, Seed: d.Seed}
	order := make([]int, len(d.X))
	for i := range order {
		order[i] = i
	}
	if s.Shuffle > 0 && plan.Scope == family.ByNode {
		rand.New(rand.NewPCG(s.Shuffle, 3)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	if s.LeafRows == 0 || plan.Scope == family.ByLeaf {
		s.LeafRows = 512
	}
	var leaves [][2]stored
	var weight exact.Sum
	for from := 0; from < len(order); from += s.LeafRows {
		var rows [2][]int
		for _, r := range order[from:min(from+s.LeafRows, len(order))] {
			k := 0
			if d.Held != nil && d.Held[r] {
				k = 1
				set.Held++
			} else {
				w := 1.0
				if d.W != nil {
					w = d.W[r]
				}
				set.Rows++
				weight.Add(w)
			}
			rows[k] = append(rows[k], r)
		}
		var leaf [2]stored
		for k := range rows {
			b := d.Block(rows[k], s.Narrow)
			leaf[k] = stored{family.Rows{Leaf: len(leaves), Held: k == 1, To: b.Padded()}, b}
		}
		leaves = append(leaves, leaf)
	}
	set.Weight = weight.Value()
	r := &run{t: t, f: f, s: s, set: set, leaves: leaves}
	if err := r.workers(); err != nil {
		return nil, err
	}
	defer r.close()
	drv, err := f.NewDriver(set)
	if err != nil {
		return nil, err
	}
	for n := 0; !drv.State().Done; n++ {
		if n > 1<<20 {
			t.Fatal("the driver does not end")
		}
		p, err := r.step(drv.Next())
		if err != nil {
			return nil, err
		}
		if err := drv.Tell(p); err != nil {
			return nil, err
		}
		if s.Resume && !drv.State().Done {
			state, err := drv.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if drv, err = f.NewDriver(set); err != nil {
				t.Fatal(err)
			}
			if err := drv.UnmarshalBinary(state); err != nil {
				t.Fatal(err)
			}
			r.close()
			if err := r.workers(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := drv.Predictor()
	if err != nil {
		return nil, err
	}
	var e canon.E
	p.Encode(&e)
	back := canon.Read(e.B)
	again, err := f.Decode(fitted, back)
	if err == nil {
		err = back.Done("a model")
	}
	if err != nil {
		t.Fatalf("the model does not decode: %v", err)
	}
	var e2 canon.E
	again.Encode(&e2)
	if !bytes.Equal(e.B, e2.B) {
		t.Fatal("the model does not decode to itself")
	}
	return &Result{again, e.B, drv.State(), plan, set}, nil
}

type run struct {
	t      testing.TB
	f      family.Family
	s      Spread
	set    *family.Setup
	leaves [][2]stored
	ws     []family.Worker
	used   []int64
}

func (r *run) workers() error {
	r.ws, r.used = nil, make([]int64, max(r.s.Nodes, 1))
	for i := range r.used {
		w, err := r.f.NewWorker(r.set, &family.Node{Threads: max(r.s.Threads, 1), Grow: func(n int64) error { r.used[i] += n; return nil }})
		if err != nil {
			return err
		}
		r.ws = append(r.ws, w)
	}
	return nil
}

func (r *run) close() {
	for i, w := range r.ws {
		w.Close()
		if r.used[i] != 0 {
			r.t.Errorf("a worker that was closed still holds %d bytes", r.used[i])
		}
	}
	r.ws = nil
}

// step runs a step on all blocks and merges what they give.
func (r *run) step(s *family.Step) (family.Message, error) {
	var parts []family.Message
	for node, w := range r.ws {
		st := s
		if r.s.Bytes {
			st = r.travel(s)
		}
		if n := w.PassBytes(st); n < 0 {
			r.t.Fatalf("a pass of %d bytes", n)
		}
		from, to := node*len(r.leaves)/len(r.ws), (node+1)*len(r.leaves)/len(r.ws)
		if r.set.Plan.Scope == family.ByLeaf {
			for _, leaf := range r.leaves[from:to] {
				p, err := r.passes(w, st, [][2]stored{leaf})
				if err != nil {
					return nil, err
				}
				parts = append(parts, p)
			}
			continue
		}
		p, err := r.passes(w, st, r.leaves[from:to])
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	for len(parts) > 1 { // the reduce tree's order
		var up []family.Message
		for i := 0; i < len(parts); i += 2 {
			if i+1 == len(parts) {
				up = append(up, parts[i])
				continue
			}
			l, q := parts[i], parts[i+1]
			if r.s.Bytes {
				l, q = r.partial(s.Op, l), r.partial(s.Op, q)
			}
			m, err := r.f.Merge(s.Op, l, q)
			if err != nil {
				return nil, err
			}
			up = append(up, m)
		}
		parts = up
	}
	if r.s.Bytes {
		return r.partial(s.Op, parts[0]), nil
	}
	return parts[0], nil
}

// passes works leaves with as many passes as there are threads.
func (r *run) passes(w family.Worker, s *family.Step, leaves [][2]stored) (family.Message, error) {
	var out family.Message
	for k := range max(r.s.Threads, 1) {
		p, err := w.NewPass(s)
		if err != nil {
			return nil, err
		}
		if r.set.Plan.Scope == family.ByLeaf && k > 0 {
			break
		}
		for i := k; i < len(leaves); i += max(r.s.Threads, 1) {
			for set, it := range leaves[i] {
				if s.Set&(family.Train<<set) == 0 || it.b.Rows == 0 {
					continue
				}
				rows := it.rows
				if s.Batch != nil && set == 0 {
					rows.From, rows.To = dataset.BatchRows(it.b.Rows, rows.Leaf, len(r.leaves), s.Batch.Step, s.Batch.Steps)
				}
				if err := p.Add(context.Background(), rows, it.b); err != nil {
					return nil, err
				}
			}
		}
		m := p.Partial()
		if out == nil {
			out = m
		} else if out, err = r.f.Merge(s.Op, out, m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *run) travel(s *family.Step) *family.Step {
	c := *s
	if s.Body != nil {
		var e canon.E
		s.Body.Encode(&e)
		d := canon.Read(e.B)
		c.Body = r.f.DecodeStep(s.Op, d)
		if err := d.Done("a step"); err != nil {
			r.t.Fatalf("step %d does not decode: %v", s.Op, err)
		}
	}
	return &c
}

func (r *run) partial(op uint8, m family.Message) family.Message {
	var e canon.E
	m.Encode(&e)
	d := canon.Read(e.B)
	p := r.f.DecodePartial(op, d)
	if err := d.Done("a partial"); err != nil {
		r.t.Fatalf("a partial of step %d does not decode: %v", op, err)
	}
	return p
}

// Same trains on many spreads and demands the same bytes, which it gives.
func Same(t *testing.T, f family.Family, d *Data, options ...any) *Result {
	t.Helper()
	var want *Result
	for i, s := range []Spread{
		{Nodes: 1, Threads: 1},
		{Nodes: 1, Threads: 3, Shuffle: 1},
		{Nodes: 3, Threads: 2, Shuffle: 2, LeafRows: 100, Bytes: true},
		{Nodes: 5, Threads: 1, Shuffle: 3, LeafRows: 64, Resume: true},
		{Nodes: 2, Threads: 2, LeafRows: 1000, Bytes: true, Resume: true},
	} {
		got, err := Train(t, f, d, s, options...)
		if err != nil {
			t.Fatalf("spread %d: %v", i, err)
		}
		if want == nil {
			want = got
		} else if !bytes.Equal(got.Bytes, want.Bytes) {
			t.Fatalf("spread %d (%+v): another model", i, s)
		}
	}
	return want
}
