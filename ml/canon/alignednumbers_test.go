package canon

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestLent decodes numbers without copying, sharing memory with the input where they are aligned to
// eight bytes, and copies them elsewhere. Encoded at once or in chunks, the bytes are the same.
func TestLent(t *testing.T) {
	long, short := make([]float64, 3*chunkBytes/8), []float32{1, -2, 3}
	for i := range long {
		long[i] = float64(i) - 7
	}
	write := func(e *E) {
		e.U8(1)
		e.LentF32s(short)
		e.F64s(long) // so that what follows is not aligned
		e.U8(2)
		e.LentF64s(long)
		e.LentF64s(nil)
		e.U8(3)
	}
	var whole E
	write(&whole)
	var chunks bytes.Buffer
	e := To(&chunks)
	write(e)
	if err := e.Flush(); err != nil || !bytes.Equal(chunks.Bytes(), whole.B) {
		t.Fatalf("in chunks: %d bytes, %v; at once: %d", chunks.Len(), err, len(whole.B))
	}
	for shift := range 9 {
		room := make([]byte, shift+len(whole.B))
		b := room[shift:]
		copy(b, whole.B)
		d := Read(b)
		first, s := d.U8(), d.LentF32s()
		d.F64s()
		second, l, none, third := d.U8(), d.LentF64s(), d.LentF64s(), d.U8()
		if err := d.Done("lent numbers"); err != nil || first != 1 || second != 2 || third != 3 || !slices.Equal(s, short) || !slices.Equal(l, long) || none != nil {
			t.Fatalf("shifted by %d: %v", shift, err)
		}
		clear(b)
		if shared := l[0] == 0; shared != (shift%8 == 0) {
			t.Errorf("shifted by %d: numbers share the input: %v", shift, shared)
		}
	}
	var odd E
	odd.LentF64s([]float64{1})
	odd.B[5] = 1 // alignment padding, which must be zero
	d := Read(odd.B)
	d.LentF64s()
	if err := d.Done("lent numbers"); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Errorf("other bytes than zeros before numbers: %v", err)
	}
}
