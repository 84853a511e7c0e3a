package dataset

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
)

// codedStores distributes rows of three numbers, some with many copies, encoded as two dense
// columns, a category code, a label and a weight. It returns the stores of two nodes; the second
// one has the second half of the leaves.
func codedStores(t *testing.T, r *rand.Rand, rows, leaves int, narrow, weighted bool, limit int64) (nodes [2]*Store) {
	t.Helper()
	for i := range nodes {
		nodes[i] = NewStore(CodedLayout(2, 1, narrow, weighted), Config{Pool: mem.NewPool("coded", limit), Temp: t.TempDir(), Seed: 5, Leaves: leaves})
	}
	layout, err := NewLayout(oneColumn)
	if err != nil {
		t.Fatal(err)
	}
	vals := make([]int64, rows)
	for i := range vals {
		if vals[i] = int64(i); i%10 < 3 {
			vals[i] = []int64{1, 5, int64(i / 10 * 7 % 200)}[i%10]
		}
	}
	r.Shuffle(rows, func(i, j int) { vals[i], vals[j] = vals[j], vals[i] })
	var counted *Counted // nil while rows are read the first time
	flow := func(v *View) error {
		if counted == nil {
			return nil
		}
		b := NewBlock(v.Rows, 2, 1, narrow)
		x := make([]float64, ViewRows)
		for from := 0; from < v.Rows; from += ViewRows {
			n := min(ViewRows, v.Rows-from)
			v.Numbers(0, from, x[:n])
			for i, x := range x[:n] {
				b.Set(from+i, 0, x)
				b.Set(from+i, 1, -x)
				b.Code[(from+i)&^7+(from+i)&7] = int32(x) % 3
				b.Y[from+i], b.W[from+i] = float64(int(x)%2), float64(int(x)%4)
			}
		}
		var here []int32
		var sent []byte
		for i := range v.Rows {
			switch {
			case counted.Count(v, i, false, func() []byte { return nodes[0].Record(v, b, i) }):
			case v.Bucket(i) < Buckets/2:
				here = append(here, int32(i))
			default:
				sent = nodes[1].AppendCoded(sent, v, b, i)
			}
		}
		return errors.Join(nodes[0].AddCoded(v, b, here), nodes[1].PutCoded(sent))
	}
	read := func() *Copies {
		raw := NewStore(layout, Config{Pool: mem.NewPool("raw", 2<<20), Temp: t.TempDir(), Seed: 5, Flow: flow, Copies: true})
		raw.Flow()
		defer raw.Close()
		for from := 0; from < rows; from += 1000 {
			if err := raw.Add(context.Background(), batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, vals[from:from+1000], nil)}, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		if err := raw.Drain(); err != nil {
			t.Fatal(err)
		}
		return raw.Copies(0)
	}
	perhaps := read().Perhaps()
	if len(perhaps) < 2 {
		t.Fatalf("%d rows may be common", len(perhaps))
	}
	counted = NewCounted(perhaps)
	read()
	list := Together(counted.List(), int64(rows))
	shared := 0
	for _, c := range list {
		if !c.Home {
			shared++
		}
	}
	if shared != 2 {
		t.Fatalf("%d rows are shared", shared)
	}
	for _, s := range nodes {
		if err := errors.Join(s.Spread(list, false), s.Finish()); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

// TestEncodedLeaves: the blocks of encoded rows are the same in whatever order rows arrive, whether
// they are in memory, in the file with memory for all records of a leaf, or in the file without.
// Their order is that of blocks made of the rows directly.
func TestEncodedLeaves(t *testing.T) {
	const rows, leaves = 60000, 4
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range [][2]bool{{false, false}, {true, false}, {true, true}} {
		narrow, weighted := c[0], c[1]
		weights := []float64{2, 3}
		if weighted {
			weights = nil
		}
		ample, tiny := codedStores(t, r, rows, leaves, narrow, weighted, 0), codedStores(t, r, rows, leaves, narrow, weighted, 2<<20)
		seen := 0
		for k := range leaves {
			from, to := LeafBuckets(k, leaves)
			var ls [2]*Leaf
			for i, nodes := range [][2]*Store{ample, tiny} {
				var err error
				if ls[i], err = nodes[k*2/leaves].MakeLeaf(context.Background(), from, to); err != nil {
					t.Fatal(err)
				}
			}
			if ls[0].spilled || !ls[1].spilled {
				t.Fatal("the rows are not where they were to be")
			}
			seen += ls[0].Rows
			want, err := ls[0].Block(weights)
			if err != nil {
				t.Fatal(err)
			}
			if n := int64(want.Rows); ls[0].CodedBytes() != want.Bytes() || n*int64(ls[0].store.layout.fixed) > want.Bytes() {
				t.Errorf("a block of %d bytes is %d rows of %d", want.Bytes(), n, ls[0].store.layout.fixed)
			}
			for _, room := range []bool{true, false} { // is there memory for the records of the leaf
				pool, order := tiny[k*2/leaves].cfg.Pool, int64(ls[1].Rows)*orderBytes
				a := pool.Account("others", false)
				if !room {
					if err := a.Grow(pool.Limit() - pool.Used() - order - 256<<10); err != nil {
						t.Fatal(err)
					}
				}
				if err := ls[1].store.grow(order); err != nil {
					t.Fatal(err)
				}
				slab, ok := ls[1].load()
				if ok != room {
					t.Fatalf("there is room: %v", ok)
				}
				ls[1].store.shrink(int64(cap(slab)) + order)
				got, err := ls[1].Block(weights)
				a.Close()
				if err != nil {
					t.Fatal(err)
				}
				sameBlock(t, got, want)
			}
			shuffled, from0 := NewBlock(want.Rows, 2, 1, narrow), r.Perm(want.Rows)
			for i, r := range from0 {
				shuffled.Set(i, 0, want.Value(r, 0))
				shuffled.Set(i, 1, want.Value(r, 1))
				shuffled.Code[i], shuffled.Y[i], shuffled.W[i] = want.Code[r], want.Y[r], want.W[r]
			}
			shuffled.Order(5, weighted)
			sameBlock(t, shuffled, want)
		}
		if seen != rows {
			t.Errorf("%d rows, not %d", seen, rows)
		}
		for _, s := range []*Store{ample[0], ample[1], tiny[0], tiny[1]} {
			if err := s.Close(); err != nil || s.cfg.Pool.Used() != 0 {
				t.Errorf("%v, %d bytes", err, s.cfg.Pool.Used())
			}
		}
	}
}

func sameBlock(t *testing.T, got, want *Block) {
	t.Helper()
	if !slices.Equal(got.X32, want.X32) || !slices.Equal(got.X64, want.X64) || !slices.Equal(got.Code, want.Code) ||
		!slices.Equal(got.Y, want.Y) || !slices.Equal(got.W, want.W) {
		t.Error("another block")
	}
}
