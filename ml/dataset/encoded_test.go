package dataset

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
)

// codedStore deals rows of three numbers of which some have many copies, as two
// dense columns, a code and a label, and gives the store of what was encoded.
func codedStore(t *testing.T, rows int, narrow bool, limit int64) *Store {
	t.Helper()
	coded := NewStore(CodedLayout(2, 1, narrow), Config{Pool: mem.NewPool("coded", limit), Temp: t.TempDir(), Seed: 5})
	layout, err := NewLayout(oneColumn)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int32, rows)
	raw := NewStore(layout, Config{Pool: mem.NewPool("raw", 2<<20), Temp: t.TempDir(), Seed: 5, Flow: func(v *View) error {
		b := NewBlock(v.Rows, 2, 1, narrow)
		x := make([]float64, ViewRows)
		for from := 0; from < v.Rows; from += ViewRows {
			n := min(ViewRows, v.Rows-from)
			v.Numbers(0, from, x[:n])
			for i, x := range x[:n] {
				b.Set(from+i, 0, x)
				b.Set(from+i, 1, -x)
				b.Code[(from+i)&^7+(from+i)&7] = int32(x) % 3
				b.Y[from+i] = float64(int(x) % 2)
			}
		}
		for i := range v.Rows {
			all[i] = int32(i)
		}
		half := v.Rows / 2 // as if others had sent them
		var sent []byte
		for i := half; i < v.Rows; i++ {
			sent = coded.AppendCoded(sent, v, b, i)
		}
		return errors.Join(coded.AddCoded(v, b, all[:half]), coded.PutCoded(sent))
	}})
	raw.Flow()
	defer raw.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < rows; from += 1000 {
		vals := make([]int64, 1000)
		for i := range vals {
			if vals[i] = int64(from + i); i%10 < 3 {
				vals[i] = []int64{1, 5, int64(r.IntN(200))}[i%10]
			}
		}
		if err := raw.Add(context.Background(), batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, nil)}, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Drain(); err != nil {
		t.Fatal(err)
	}
	common, err := coded.Common(int64(rows))
	if err != nil {
		t.Fatal(err)
	}
	if len(common) != 2 {
		t.Fatalf("%d rows are common", len(common))
	}
	if err := coded.Spread(common); err != nil {
		t.Fatal(err)
	}
	if err := coded.Finish(); err != nil {
		t.Fatal(err)
	}
	return coded
}

// TestEncodedLeaves: the blocks of encoded rows are the same where they lie in
// memory, where they lie in the file and there is room for a leaf's records at
// once, and where there is none.
func TestEncodedLeaves(t *testing.T) {
	const rows, leaves = 60000, 4
	for _, narrow := range []bool{false, true} {
		ample, tiny := codedStore(t, rows, narrow, 0), codedStore(t, rows, narrow, 2<<20)
		d := &Drawer{share: 0.25, cut: drawBins / 4, common: map[RowHash]*atomic.Int64{}}
		seen := 0
		for k := range leaves {
			from, to := LeafBuckets(k, leaves)
			var ls [2]*Leaf
			for i, s := range []*Store{ample, tiny} {
				l, err := s.Settle(context.Background(), from, to)
				if err != nil {
					t.Fatal(err)
				}
				v, err := l.Open()
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Draw(d, v); err != nil {
					t.Fatal(err)
				}
				v.Close()
				ls[i] = l
			}
			if ls[0].spilled || !ls[1].spilled {
				t.Fatal("the rows are not where they were to be")
			}
			train, held := ls[0].Units()
			seen += train + held
			if held == 0 || train == 0 {
				t.Fatalf("%d rows, %d held out", train, held)
			}
			for i, n := range []int{train, held} {
				want, err := ls[0].Block(n, i == 1, []float64{2, 3})
				if err != nil {
					t.Fatal(err)
				}
				for _, spare := range []int64{0, 1 << 20} { // bytes that others have
					a := tiny.cfg.Pool.Account("others", false)
					if err := a.Grow(spare); err != nil {
						t.Fatal(err)
					}
					v, err := ls[1].Open()
					if (err != nil) != (spare > 0) {
						t.Fatalf("with %d bytes less: %v", spare, err)
					}
					if err == nil {
						v.Close()
					}
					got, err := ls[1].Block(n, i == 1, []float64{2, 3})
					a.Close()
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(got.X32, want.X32) || !slices.Equal(got.X64, want.X64) || !slices.Equal(got.Code, want.Code) ||
						!slices.Equal(got.Y, want.Y) || !slices.Equal(got.W, want.W) {
						t.Errorf("leaf %d: another block", k)
					}
				}
			}
		}
		if seen != rows {
			t.Errorf("%d rows, not %d", seen, rows)
		}
		for _, s := range []*Store{ample, tiny} {
			if err := s.Close(); err != nil || s.cfg.Pool.Used() != 0 {
				t.Errorf("%v, %d bytes", err, s.cfg.Pool.Used())
			}
		}
	}
}

// TestMadeBlocks opens blocks that are made when they are wanted from several
// goroutines, with memory for two of them: all get theirs, those that follow each
// other are made once, and one that is too large fails.
func TestMadeBlocks(t *testing.T) {
	const rows = 4000
	size := BlockBytes(rows, 2, 0, false)
	pool := mem.NewPool("t", 5*size/2)
	s := NewBlocks(Config{Pool: pool, Temp: t.TempDir()})
	var made atomic.Int64
	for id := range 6 {
		s.PutMade(id, rows, size, func() (*Block, error) {
			made.Add(1)
			b := NewBlock(rows, 2, 0, false)
			b.Y[0] = float64(id)
			return b, nil
		})
	}
	for range 5 { // in turn
		for id := range 2 {
			b, release, err := s.Open(id)
			if err != nil || b.Y[0] != float64(id) || s.End(id) != rows {
				t.Fatal(err)
			}
			release()
		}
	}
	if made.Load() != 2 {
		t.Errorf("%d blocks were made", made.Load())
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 1))
			for range 200 {
				id := r.IntN(6)
				b, release, err := s.Open(id)
				if err != nil {
					t.Error(err)
					return
				}
				if b.Y[0] != float64(id) {
					t.Errorf("block %d is %v", id, b.Y[0])
				}
				release()
			}
		})
	}
	wg.Wait()
	tries := 0
	s.PutMade(1, rows, size, func() (*Block, error) { // whose rows have no room beside idle blocks
		if tries++; s.acct.Used() > size {
			return nil, errDamaged()
		}
		return NewBlock(rows, 2, 0, false), nil
	})
	if _, release, err := s.Open(1); err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	} else {
		release()
	}
	s.PutMade(0, rows, 3*size, func() (*Block, error) { return NewBlock(rows, 2, 0, false), nil })
	if _, _, err := s.Open(0); err == nil {
		t.Error("a block that is larger than memory was opened")
	}
	if err := s.Close(); err != nil || pool.Used() != 0 {
		t.Errorf("%v, %d bytes", err, pool.Used())
	}
}
