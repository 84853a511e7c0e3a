package groups

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// written writes n groups, with a failed one among each ten.
func written(t *testing.T, n int, pooled bool) ([]byte, []*Group) {
	var b bytes.Buffer
	w, err := NewWriter(&b, []record.Column{{Name: "g", Type: types.Int8}, {Name: "s", Type: types.Text}}, func(int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var all []*Group
	for i := range n {
		g := &Group{Rows: int64(i), Iterations: i % 7, TrainLoss: float64(i), Converged: i%2 == 0, Metrics: []family.Metric{{Name: "m", Value: float64(i)}}, Classes: [][]string{{"a", "b"}, nil}, Model: make([]byte, i%5*100+1)}
		if i%10 == 9 {
			g = &Group{Code: "22023", Error: "no", Rows: 1}
		}
		all = append(all, g)
		if err := w.Put(keyOf(i), []types.Datum{int64(i), nil}, g.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	var last func(io.Writer) error
	if pooled {
		last = func(w io.Writer) error {
			_, err := w.Write([]byte("pooled"))
			return err
		}
	}
	if err := w.Close([][]string{{"a", "b", "c"}, nil}, last); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), all
}

func keyOf(i int) []byte { return fmt.Appendf(nil, "%08d", 2*i) }

// TestFilesAreReadWhereTheyLie: each group is found by its key, no other key finds one, and all are listed in order.
func TestFilesAreReadWhereTheyLie(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1000} {
		b, all := written(t, n, n%2 == 0)
		f, err := Open(b, func(int64) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if f.Groups != int64(n) || len(f.Keys) != 2 || len(f.Classes) != 2 || len(f.Classes[0]) != 3 || string(f.Pooled(b)) != map[bool]string{true: "pooled"}[n%2 == 0] {
			t.Fatalf("%d groups: %+v", n, f)
		}
		for i, want := range all {
			g, err := f.Find(b, keyOf(i))
			if err != nil || g == nil || g.Rows != want.Rows || g.Failed() != want.Failed() || len(g.Model) != len(want.Model) {
				t.Fatalf("group %d of %d: %+v %v", i, n, g, err)
			}
			if g, err := f.Find(b, append(keyOf(i), '1')); g != nil || err != nil {
				t.Fatalf("between groups %d and the next is %+v %v", i, g, err)
			}
		}
		if g, err := f.Find(b, []byte("/")); g != nil || err != nil {
			t.Fatal(g, err)
		}
		at := int64(0)
		err = f.Each(b, func(vals []types.Datum, g *Group) error {
			if vals[0] != at || vals[1] != nil {
				t.Fatalf("values %v of group %d", vals, at)
			}
			at++
			return nil
		})
		if err != nil || at != int64(n) {
			t.Fatal(at, err)
		}
	}
}

// TestDamagedFiles: bytes that are not a file of groups give errors, and never a panic.
func TestDamagedFiles(t *testing.T) {
	b, _ := written(t, 200, true)
	r := rand.New(rand.NewPCG(1, 2))
	read := func(b []byte) {
		f, err := Open(b, func(int64) error { return nil })
		if err != nil {
			return
		}
		f.Pooled(b)
		for i := 0; i < 200; i += 13 {
			_, _ = f.Find(b, keyOf(i))
		}
		_ = f.Each(b, func([]types.Datum, *Group) error { return nil })
	}
	for i := range len(b) {
		if i < 200 || i > len(b)-400 || i%997 == 0 {
			read(b[:i])
		}
	}
	for range 500 {
		c := bytes.Clone(b)
		at := r.IntN(len(c))
		if r.IntN(2) == 0 {
			at = len(c) - 1 - r.IntN(300)
		}
		c[at] ^= byte(1 + r.IntN(255))
		read(c)
	}
}
