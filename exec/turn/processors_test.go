package turn

import (
	"testing"
	"time"
)

// TestProcessors: there are more at once where more threads work, and fewer when fewer have been enough for a while.
func TestProcessors(t *testing.T) {
	p := Processors{Cores: 2, Spare: 2}
	start := time.Now()
	for i, c := range []struct {
		after   time.Duration
		threads int
		n       int
		again   time.Duration
	}{
		{0, 0, 4, 0},
		{0, 2, 4, 0},
		{1, 4, 6, 0},
		{1, 16, 18, 0},
		{2, 2, 18, lull},                   // one statement ends and the next begins
		{2 + lull/2, 2, 18, lull - lull/2}, // asked too early
		{3 + lull/2, 16, 18, 0},
		{4 + lull/2, 4, 18, lull},
		{4 + lull/2 + lull, 4, 6, 0},
		{5 + lull/2 + lull, 0, 6, lull},
		{9 * lull, 0, 4, 0},
		{9 * lull, 1000, most*2 + 2, 0},
	} {
		if n, again := p.For(c.threads, start.Add(c.after)); n != c.n || again != c.again {
			t.Errorf("step %d: %d processors, again after %v; wanted %d and %v", i, n, again, c.n, c.again)
		}
	}
}
