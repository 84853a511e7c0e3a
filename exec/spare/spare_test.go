package spare

import (
	"runtime"
	"testing"
)

// TestSparesAreGarbage: spare memory is still garbage collected, and a short array is never served
// from a long spare.
func TestSparesAreGarbage(t *testing.T) {
	const long = 3 << 20
	Reuse(make([]float64, long/8))
	if v := take[float64](long / 16); v != nil {
		t.Error("half of a spare was used")
	}
	runtime.GC()
	if v := take[float64](long / 8); v != nil {
		t.Errorf("a spare of %d bytes was kept over a collection", 8*len(v))
	}
}

// TestReused: Reused counts bytes taken from spares, not newly allocated ones.
func TestReused(t *testing.T) {
	const long = 5 << 20
	Reuse(make([]float64, long/8))
	was := Reused()
	if v := Dirty[float64](long / 8); len(v) != long/8 || Reused() != was+long {
		t.Errorf("%d bytes of a spare of %d are counted", Reused()-was, long)
	}
	if v := Dirty[float64](long / 8); len(v) != long/8 || Reused() != was+long {
		t.Error("new memory is counted")
	}
}
