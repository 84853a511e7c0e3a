package familytest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/reduce"
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
	// Key says which rows, neighbours, are a sequence, for families of windows,
	// whose options order_by and partition_by name no columns here. A sequence is held out as a
	// whole, by its first row's Held.
	Key []int
	// Start is the model that the training continues from, of rows with the same columns; nil for none.
	Start family.Predictor
}

// Columns are x0, x1 … and c0, c1 ….
func (d *Data) Columns() (cols []record.Column) {
	for j := range d.X[0] {
		cols = append(cols, record.Column{Name: fmt.Sprint("x", j), Type: types.Float8})
	}
	for j := range d.Cats {
		cols = append(cols, record.Column{Name: fmt.Sprint("c", j), Type: types.Text})
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
			f.OneHot += len(fc.Cats)
		}
		f.Cols = append(f.Cols, fc)
	}
	if d.Y != nil {
		f.Label = record.Column{Name: "y", Type: types.Float8}
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
func (d *Data) Block(rows []int, narrow bool) *block.Block {
	b := block.New(len(rows), len(d.X[0]), len(d.Cats), narrow)
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
func (d *Data) All(narrow bool) *block.Block {
	rows := make([]int, len(d.X))
	for i := range rows {
		rows[i] = i
	}
	return d.Block(rows, narrow)
}

// Home is a node of one thread that charges nothing.
var Home = &family.Node{Threads: 1, Root: true, Grow: func(int64) error { return nil }}

// Space returns memory.
func Space(n int) ([]byte, error) { return make([]byte, n), nil }

// Spread says how a training is spread.
type Spread struct {
	Nodes, Threads int
	LeafRows       int    // 0: 512
	Shuffle        uint64 // of the rows over leaves, where their order does not matter; 0: none
	Bytes          bool   // messages travel as bytes
	Resume         bool   // begin anew from the state after every step
	Narrow         bool
	Slice          int  // elements of the slices in which partials are merged; 0: whole
	Charged        bool // what driver and worker hold is what they have charged
}

// Uncharged is what a driver may hold uncharged.
const Uncharged = 256 << 10

// Result is a trained model.
type Result struct {
	family.Predictor
	Bytes []byte
	State family.State
	Plan  *family.Plan
	Setup *family.Setup
	Sent  int // bytes of the largest partial, where they travel as bytes
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
	b    *block.Block
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
	set := &family.Setup{Options: o, Plan: plan, Fitted: fitted, Seed: d.Seed, Start: d.Start}
	order := make([]int, len(d.X))
	for i := range order {
		order[i] = i
	}
	if s.Shuffle > 0 && plan.Scope == family.ByNode && !plan.Distributed {
		rand.New(rand.NewPCG(s.Shuffle, 3)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	if s.LeafRows == 0 || plan.Scope == family.ByLeaf || plan.Distributed {
		s.LeafRows = 512
	}
	var leaves [][2]stored
	if plan.Windows != nil {
		leaves = d.sequences(set, s)
		order = nil
	}
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
				if d.W == nil || d.W[r] > 0 {
					set.Counted++
				}
				weight.Add(w)
			}
			rows[k] = append(rows[k], r)
		}
		var leaf [2]stored
		for k := range rows {
			b := d.Block(rows[k], s.Narrow)
			leaf[k] = stored{family.Rows{Leaf: len(leaves), Held: k == 1, To: b.End()}, b}
		}
		leaves = append(leaves, leaf)
	}
	set.Weight = weight.Value()
	r := &run{t: t, f: f, s: s, set: set, leaves: leaves}
	if err := r.workers(); err != nil {
		return nil, err
	}
	defer r.close()
	live := r.live()
	drv, err := f.NewDriver(set, r.home())
	if err != nil {
		return nil, err
	}
	set.Start = nil // drivers that continue have none
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
		if s.Charged {
			p = nil
			if held, charged := r.live()-live, r.charged+r.used[0]+r.space+r.most; held > charged+Uncharged {
				t.Fatalf("%d bytes are held after step %d, and %d are charged", held, n, charged)
			}
		}
		if s.Resume && !drv.State().Done {
			state, err := Saved(drv)
			if err != nil {
				t.Fatal(err)
			}
			if drv, err = f.NewDriver(set, r.home()); err != nil {
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
	res := &Result{again, e.B, drv.State(), plan, set, r.sent}
	reproduces(t, f, d, res)
	return res, nil
}

// sequences makes leaves of windows.
func (d *Data) sequences(set *family.Setup, s Spread) (leaves [][2]stored) {
	w := set.Plan.Windows
	var rows [2][]int
	first := [2][]int32{{}, {}}
	encodeRows := func() {
		var leaf [2]stored
		for k := range rows {
			b := d.Block(rows[k], s.Narrow)
			b.Windows, b.Length = first[k], w.Length
			leaf[k] = stored{family.Rows{Leaf: len(leaves), Held: k == 1, To: b.End()}, b}
			if _, weights := b.Targets(); k == 0 {
				set.Rows += int64(b.Units())
				for _, x := range weights {
					set.Weight += x
				}
			} else {
				set.Held += int64(b.Units())
			}
		}
		leaves = append(leaves, leaf)
		rows, first = [2][]int{}, [2][]int32{{}, {}}
	}
	for from := 0; from < len(d.X); {
		to, k := from+1, 0
		for to < len(d.X) && d.Key[to] == d.Key[from] {
			to++
		}
		if d.Held != nil && d.Held[from] {
			k = 1
		}
		for at := from; at+w.Length <= to; at += w.Stride {
			first[k] = append(first[k], int32(len(rows[k])+at-from))
		}
		for r := from; r < to; r++ {
			rows[k] = append(rows[k], r)
		}
		if from = to; len(rows[0])+len(rows[1]) >= s.LeafRows {
			encodeRows()
		}
	}
	encodeRows()
	return leaves
}

type run struct {
	t       testing.TB
	f       family.Family
	s       Spread
	set     *family.Setup
	leaves  [][2]stored
	ws      []family.Worker
	used    []int64
	sent    int
	charged int64 // by drivers
	space   int64 // that workers have
	most    int64 // of a pass and its partial, which a worker may use again
}

// home is where drivers work.
func (r *run) home() *family.Node {
	return &family.Node{Threads: max(r.s.Threads, 1), Root: true, Grow: func(n int64) error { r.charged += n; return nil }}
}

// live is the memory that is in use.
func (r *run) live() int64 {
	if !r.s.Charged {
		return 0
	}
	runtime.GC()
	runtime.GC() // pools let go of what they have at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (r *run) workers() error {
	r.ws, r.used = nil, make([]int64, max(r.s.Nodes, 1))
	for i := range r.used {
		w, err := r.f.NewWorker(r.set, &family.Node{Threads: max(r.s.Threads, 1), Root: i == 0, Grow: func(n int64) error { r.used[i] += n; return nil },
			Space: func(n int) ([]byte, error) { r.space += int64(n); return Space(n) }})
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
	rows := r.rows(s)
	var parts []family.Message
	for node, w := range r.ws {
		st := s
		if r.s.Bytes {
			st = r.travel(s)
		}
		pass, partial := w.PassBytes(st)
		if pass < 0 || partial < 0 {
			r.t.Fatalf("a pass of %d bytes and a partial of %d", pass, partial)
		}
		r.most = max(r.most, pass+partial)
		from, to := node*len(rows)/len(r.ws), (node+1)*len(rows)/len(r.ws)
		if r.set.Plan.Scope == family.ByNode {
			p, err := r.passes(w, st, rows[from:to])
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
			continue
		}
		for _, leaf := range rows[from:to] {
			var of []family.Message
			for _, part := range r.cut(leaf) {
				p, err := r.passes(w, st, [][]family.Rows{part})
				if err != nil {
					return nil, err
				}
				of = append(of, p)
			}
			p, err := r.fold(s.Op, of)
			if err != nil {
				return nil, err
			}
			if p != nil && r.s.Bytes {
				p = r.partial(s.Op, p)
			}
			parts = append(parts, p)
		}
	}
	if r.s.Slice > 0 && s.Elements > r.s.Slice {
		return r.foldSlices(s, parts)
	}
	return r.fold(s.Op, parts)
}

// foldSlices is fold, slice by slice.
func (r *run) foldSlices(s *family.Step, parts []family.Message) (family.Message, error) {
	var list []family.Message
	for from := 0; from < s.Elements; from += r.s.Slice {
		to := from + r.s.Slice
		if to >= s.Elements {
			to = math.MaxInt
		}
		of := make([]family.Message, len(parts))
		for i, p := range parts {
			if p == nil {
				continue
			}
			if of[i] = p.(family.Sliced).Slice(from, to); r.s.Bytes {
				of[i] = r.partial(s.Op, of[i])
			}
		}
		m, err := r.fold(s.Op, of)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list[0].(family.Sliced).Join(list)
}

// rows returns the rows of each leaf in a step: of a mini-batch only the leaves
// that have some.
func (r *run) rows(s *family.Step) (out [][]family.Rows) {
	if s.Batch != nil {
		counts := make([]int64, len(r.leaves))
		for i, l := range r.leaves {
			counts[i] = int64(l[0].b.Units())
		}
		for _, x := range block.BatchSlices(counts, r.set.Plan.Unit(), s.Batch.Step, s.Batch.Steps) {
			out = append(out, []family.Rows{{Leaf: x.Leaf, From: x.From, To: x.To}})
		}
		return out
	}
	for _, l := range r.leaves {
		var of []family.Rows
		for set, it := range l {
			if s.Set&(family.Train<<set) != 0 && it.b.Rows > 0 {
				of = append(of, it.rows)
			}
		}
		out = append(out, of)
	}
	return out
}

// cut returns the parts of a leaf.
func (r *run) cut(leaf []family.Rows) [][]family.Rows {
	cut := r.set.Plan.Cut(leaf)
	if len(cut) <= len(leaf) {
		return [][]family.Rows{leaf}
	}
	var out [][]family.Rows
	for _, x := range cut {
		out = append(out, []family.Rows{x})
	}
	return out
}

// fold merges partials in the reduce tree's order.
func (r *run) fold(op uint8, parts []family.Message) (family.Message, error) {
	return reduce.Fold(parts, func(a, b family.Message) (family.Message, error) {
		switch {
		case a == nil:
			return b, nil
		case b == nil:
			return a, nil
		}
		return r.f.Merge(op, a, b)
	})
}

// passes works leaves with as many passes as there are threads, one leaf or part
// of one with one.
func (r *run) passes(w family.Worker, s *family.Step, leaves [][]family.Rows) (family.Message, error) {
	var out []family.Message
	for k := range min(max(r.s.Threads, 1), len(leaves)) {
		p, err := w.NewPass(s)
		if err != nil {
			return nil, err
		}
		none := true
		for i := k; i < len(leaves); i += max(r.s.Threads, 1) {
			for _, rows := range leaves[i] {
				set := 0
				if rows.Held {
					set = 1
				}
				b := r.leaves[rows.Leaf][set].b
				if s.Kept {
					b = nil
				}
				if err := p.Add(context.Background(), rows, b); err != nil {
					return nil, err
				}
				none = false
			}
		}
		if none && r.set.Plan.Scope == family.ByLeaf {
			return nil, nil
		}
		m := p.Partial()
		if r.s.Bytes && r.set.Plan.Scope == family.ByNode {
			m = r.partial(s.Op, m)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return r.fold(s.Op, out)
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
	r.sent = max(r.sent, len(e.B))
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
		{Nodes: 3, Threads: 1, LeafRows: 100, Slice: 3},
		{Nodes: 2, Threads: 2, LeafRows: 64, Bytes: true, Slice: 5},
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

// Saved is a driver's state.
func Saved(d family.Driver) ([]byte, error) {
	var e canon.E
	err := d.Encode(&e)
	return e.B, err
}

// Hostile changes and cuts the bytes of a trained model at random, and reads them as everything that a family reads
// from outside: what is not refused must not panic. ops are how many kinds of steps and partials there are.
func Hostile(t *testing.T, f family.Family, d *Data, tries int, ops uint8, options ...any) {
	m, err := Train(t, f, d, Spread{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range tries {
		b := slices.Clone(m.Bytes)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		b = b[:r.IntN(len(b)+1)]
		if p, err := f.Decode(d.Fitted(false), canon.Read(b)); err == nil {
			p.Score(d.All(false))
		}
		for op := range ops {
			f.DecodeStep(op, canon.Read(b))
			f.DecodePartial(op, canon.Read(b))
		}
		drv, err := f.NewDriver(m.Setup, Home)
		if err != nil {
			t.Fatal(err)
		}
		_ = drv.UnmarshalBinary(b) // no panic
	}
}

// Coords returns the coordinates of a row: its numbers, then a 0 or 1 for each value of its categories.
func (d *Data) Coords(i int) []float64 {
	x := slices.Clone(d.X[i])
	for j, n := range d.Cats {
		one := make([]float64, n)
		if c := d.Code[i][j]; c >= 0 {
			one[c] = 1
		}
		x = append(x, one...)
	}
	return x
}

// Weight returns a row's weight in training: 0 if it is held out.
func (d *Data) Weight(i int) float64 {
	switch {
	case d.Held != nil && d.Held[i]:
		return 0
	case d.W != nil:
		return d.W[i]
	}
	return 1
}
