package disk

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestBlocks: all bytes come, in whole blocks but the last, and then the reader's error.
func TestBlocks(t *testing.T) {
	bad := errors.New("bad")
	all := []byte("0123456789")
	for size := 1; size < 12; size++ {
		for n := range len(all) + 1 {
			for _, fails := range []bool{false, true} {
				r := io.Reader(iotest.OneByteReader(bytes.NewReader(all[:n])))
				if fails {
					r = io.MultiReader(r, iotest.ErrReader(bad))
				}
				var got []byte
				var failed error
				short := false
				for b, err := range Blocks(r, func() []byte { return make([]byte, size) }) {
					if short && err == nil || len(b) > size || failed != nil {
						t.Fatalf("blocks of %d: %d bytes after the last block", size, len(b))
					}
					got, failed, short = append(got, b...), err, err == nil && len(b) < size
				}
				if !bytes.Equal(got, all[:n]) || (failed == bad) != fails {
					t.Errorf("blocks of %d: %q and %v, of %q", size, got, failed, all[:n])
				}
			}
		}
	}
	for range Blocks(bytes.NewReader(all), func() []byte { return make([]byte, 2) }) {
		break
	}
}
