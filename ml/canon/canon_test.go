package canon

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func sample() []byte {
	var e E
	e.U8(7)
	e.Bool(true)
	e.Int(-3)
	e.F64(1.5)
	e.Str("añ")
	e.F64s([]float64{1, math.Copysign(0, -1), 3})
	e.I64s([]int64{-1, 5})
	e.Strs([]string{"", "x"})
	e.Type(types.FixedNumeric(15, 2, true))
	e.Bytes([]byte{9})
	return e.B
}

func read(d *D) []any {
	return []any{d.U8(), d.Bool(), d.Int(), d.F64(), d.Str(), d.F64s(), d.I64s(), d.Strs(), d.Type(), d.Bytes()}
}

func TestRoundTrip(t *testing.T) {
	d := Read(sample())
	got := read(d)
	if err := d.Done("sample"); err != nil {
		t.Fatal(err)
	}
	want := []any{uint8(7), true, -3, 1.5, "añ", []float64{1, math.Copysign(0, -1), 3}, []int64{-1, 5}, []string{"", "x"}, types.FixedNumeric(15, 2, true), []byte{9}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEveryCutAndHugeLengthIsAFault(t *testing.T) {
	b := sample()
	for n := range b {
		d := Read(b[:n])
		read(d)
		if err := d.Done("sample"); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	d := Read([]byte{255, 255, 255, 255, 1})
	if v := d.F64s(); v != nil || d.OK() {
		t.Errorf("a huge length gave %v", v)
	}
	d = Read(append(sample(), 0))
	read(d)
	if d.Done("sample") == nil {
		t.Error("a byte too many was accepted")
	}
}

// TestWrittenInChunks: an encoding written in chunks has the same bytes as one made at once,
// buffers at most two chunks, and returns the error of its writer.
func TestWrittenInChunks(t *testing.T) {
	long, floats := make([]float64, 200_000), make([]float32, 300_001)
	for i := range long {
		long[i] = float64(i)
	}
	for i := range floats {
		floats[i] = float32(-i)
	}
	fill := func(e *E) {
		e.B = append(e.B, sample()...)
		e.F64s(long)
		e.F32s(floats)
		e.Str("end")
		for i := range 100_000 {
			e.U32(uint32(i))
		}
	}
	var whole E
	fill(&whole)
	var w watched
	e := To(&w)
	fill(e)
	if err := e.Flush(); err != nil || !bytes.Equal(w.Bytes(), whole.B) {
		t.Fatalf("%d bytes, want %d: %v", w.Len(), len(whole.B), err)
	}
	if w.most > 2*chunkBytes || cap(e.B) > 4*chunkBytes {
		t.Errorf("%d bytes were written at once, %d are kept", w.most, cap(e.B))
	}
	full := errors.New("full")
	if e = To(&watched{err: full}); true {
		fill(e)
	}
	if err := e.Flush(); err != full {
		t.Errorf("the writer's error is %v", err)
	}
}

type watched struct {
	bytes.Buffer
	most int
	err  error
}

func (w *watched) Write(b []byte) (int, error) {
	if w.most = max(w.most, len(b)); w.err != nil {
		return 0, w.err
	}
	return w.Buffer.Write(b)
}

// TestCharged: the memory of a list is charged before it is allocated, and a list longer than the
// input is refused.
func TestCharged(t *testing.T) {
	var e E
	e.F64s(make([]float64, 100_000))
	e.F32s(make([]float32, 100_000))
	e.I64s(make([]int64, 50_000))
	e.Strs(make([]string, 5_000))
	read := func(limit int64) (sum int64, err error) {
		d := ReadWithin(e.B, func(n int64) error {
			if sum+n > limit {
				return pgerr.New(pgerr.OutOfMemory, "no more")
			}
			sum += n
			return nil
		})
		if n := len(d.F64s()) * 8; int64(n) > limit {
			t.Errorf("%d bytes of numbers were made under %d", n, limit)
		}
		d.F32s()
		d.I64s()
		d.Strs()
		return sum, d.Done("sample")
	}
	if sum, err := read(1 << 30); err != nil || sum < 1_600_000 || sum > 2_200_000 {
		t.Errorf("%d bytes were charged: %v", sum, err)
	}
	for _, limit := range []int64{0, 100_000, 1_000_000, 1_500_000} {
		if _, err := read(limit); !pgerr.Is(err, pgerr.OutOfMemory) {
			t.Errorf("read within %d bytes: %v", limit, err)
		}
	}
}

// TestSparse: lists with any share of zeros round-trip; lists with few nonzero elements are short;
// and no list may claim to be longer than the memory charged for it.
func TestSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for trial := range 300 {
		f, n := make([]float32, r.IntN(200)), make([]int64, r.IntN(200))
		for at := 0; at < len(f); at += 1 + r.IntN(1+trial%40) {
			f[at] = float32(r.NormFloat64())
		}
		for at := r.IntN(50); at < len(n); at += 1 + r.IntN(1+trial%30) {
			n[at] = r.Int64() - 1<<62
		}
		if len(f) > 0 {
			f[r.IntN(len(f))] = float32(math.Copysign(0, -1))
		}
		var e E
		e.SparseF32s(f)
		e.SparseI64s(n)
		d := Read(e.B)
		g, m := d.SparseF32s(), d.SparseI64s()
		if err := d.Done("lists"); err != nil || !slices.Equal(n, m) && len(n) > 0 {
			t.Fatal(trial, err)
		}
		for i, v := range f {
			if math.Float32bits(v) != math.Float32bits(g[i]) {
				t.Fatalf("number %d is %v, not %v", i, g[i], v)
			}
		}
		for cut := range e.B {
			d := Read(e.B[:cut])
			d.SparseF32s()
			d.SparseI64s()
			if d.Done("lists") == nil {
				t.Fatalf("lists cut at %d of %d were read", cut, len(e.B))
			}
		}
	}
	var e E
	list := make([]int64, 1<<20)
	list[77], list[1<<19] = 5, -5
	if e.SparseI64s(list); len(e.B) > 40 {
		t.Errorf("two members among zeros take %d bytes", len(e.B))
	}
	d := ReadWithin(e.B, func(n int64) error {
		if n > 1<<20 {
			return pgerr.New(pgerr.OutOfMemory, "too much")
		}
		return nil
	})
	if d.SparseI64s() != nil || !pgerr.Is(d.Done("a list"), pgerr.OutOfMemory) {
		t.Error("a list was read that could not be charged")
	}
	if d := Read([]byte{255, 255, 255, 255, 0, 0}); d.SparseI64s() != nil || d.OK() {
		t.Error("a huge list was read")
	}
}
