package source

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// TestPieces reads a stretch of bytes as the library reads pages: it looks ahead, skips and
// reads, small and large, to the stretch's end and not beyond. Readers are used again.
func TestPieces(t *testing.T) {
	data := make([]byte, 5*pieceBytes)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	p := &pieces{}
	for range 300 {
		from := r.IntN(len(data))
		to := from + r.IntN(len(data)-from)
		p.open(bytes.NewReader(data), int64(from), int64(to))
		at := from
		for steps := 0; at < to && steps < 200; steps++ {
			n := 1 + r.IntN([]int{10, 20_000, 3 * pieceBytes}[r.IntN(3)])
			want := data[at:min(at+n, to)]
			switch r.IntN(3) {
			case 0:
				got, err := p.Peek(n)
				if !bytes.Equal(got, want) || (err == io.EOF) != (at+n > to) || err != nil && err != io.EOF {
					t.Fatalf("peek of %d at %d of %d to %d: %d bytes, %v", n, at, from, to, len(got), err)
				}
			case 1:
				got, err := p.Discard(n)
				if at += got; got != len(want) || (err != nil) != (n > got) {
					t.Fatalf("skipped %d of %d: %v", got, n, err)
				}
			case 2:
				got := make([]byte, len(want))
				if _, err := io.ReadFull(p, got); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("read %d at %d of %d to %d: %v", n, at, from, to, err)
				}
				at += len(want)
			}
		}
	}
	p.open(bytes.NewReader(data[:100]), 50, 200) // cut off
	if got, err := io.ReadAll(p); err != nil || !bytes.Equal(got, data[50:100]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}
