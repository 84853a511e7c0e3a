package textfn

import (
	"bytes"
	"testing"
)

// TestTurnCase: every ASCII character at every place of texts of all lengths is turned as by itself.
func TestTurnCase(t *testing.T) {
	for n := range 40 {
		for shift := range 128 {
			in, out := make([]byte, n), make([]byte, n)
			for i := range in {
				in[i] = byte((i*37 + shift) % 128)
			}
			turnCase(out, in, 'A')
			if want := bytes.ToLower(in); !bytes.Equal(out, want) {
				t.Fatalf("lower of %q is %q", in, out)
			}
			turnCase(out, in, 'a')
			if want := bytes.ToUpper(in); !bytes.Equal(out, want) {
				t.Fatalf("upper of %q is %q", in, out)
			}
		}
	}
}
