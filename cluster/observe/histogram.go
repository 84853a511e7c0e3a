package observe

import (
	"math/bits"
	"time"
)

// histogram counts durations in classes that are a quarter of a power of two of microseconds wide.
type histogram [160]uint32

func classOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 4 {
		return int(us)
	}
	octave := bits.Len64(us) - 1
	return min(octave*4+int(us>>(octave-2)&3)-4, len(histogram{})-1)
}

// bound is the least duration of a class.
func bound(class int) time.Duration {
	if class < 4 {
		return time.Duration(class) * time.Microsecond
	}
	octave := class/4 + 1
	return time.Duration(uint64(4+class%4)<<(octave-2)) * time.Microsecond
}

func (h *histogram) add(d time.Duration) { h[classOf(d)]++ }

func (h *histogram) merge(o *histogram) {
	for i, n := range o {
		h[i] += n
	}
}

// quantile returns the middle of the class in which that share of the durations ends; 0 for none.
func (h *histogram) quantile(q float64) time.Duration {
	var all uint64
	for _, n := range h {
		all += uint64(n)
	}
	if all == 0 {
		return 0
	}
	left := uint64(q * float64(all-1))
	for i, n := range h {
		if left < uint64(n) {
			return (bound(i) + bound(i+1)) / 2
		}
		left -= uint64(n)
	}
	return 0
}
