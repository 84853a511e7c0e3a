package profiling

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/bins"
)

// A number's key is the highest bits of a float32, so arranged that keys are ordered as numbers are: an interval of
// them has a width of at most a 512th of its distance from 0.
const (
	keyBits  = 18
	keyShift = 32 - keyBits
)

// keyOf returns the key of a number that is not NaN.
func keyOf(v float32) uint32 { return bins.Key(v) >> keyShift }

// leastOf returns the least number with this key.
func leastOf(key uint32) float64 { return float64(bins.Number(key << keyShift)) }

// keyCounts counts keys. take returns what was counted since.
type keyCounts struct {
	n     [1 << keyBits]uint32
	pages [1 << (keyBits - pageBits)]bool // in which there is something
}

const (
	pageBits     = 8
	scratchBytes = 4<<keyBits + 1<<(keyBits-pageBits)
)

func (k *keyCounts) add(key uint32) {
	k.n[key]++
	k.pages[key>>pageBits] = true
}

func (k *keyCounts) take() (h histogram) {
	for p, some := range k.pages {
		if !some {
			continue
		}
		k.pages[p] = false
		page := k.n[p<<pageBits:][:1<<pageBits]
		for i, n := range page {
			if n > 0 {
				h.items = append(h.items, keyCount{uint32(p<<pageBits + i), int64(n)})
				page[i] = 0
			}
		}
	}
	return h.cut()
}

// histogramSize is how many intervals a histogram has at most.
const histogramSize = 4096

// histogram has the number of values by key, without as many of its low bits as are needed for at most histogramSize
// intervals. That depends on the set of values alone.
type histogram struct {
	low   uint8
	items []keyCount // ascending
}

type keyCount struct {
	key uint32
	n   int64
}

// merge returns the histogram of both; neither is changed.
func (h histogram) merge(o histogram) histogram {
	if len(h.items) == 0 {
		return o
	}
	if len(o.items) == 0 {
		return h
	}
	out := histogram{max(h.low, o.low), make([]keyCount, 0, len(h.items)+len(o.items))}
	a, b := h.items, o.items
	for len(a) > 0 || len(b) > 0 {
		var it keyCount
		switch {
		case len(b) == 0, len(a) > 0 && a[0].key>>(out.low-h.low) <= b[0].key>>(out.low-o.low):
			it, a = keyCount{a[0].key >> (out.low - h.low), a[0].n}, a[1:]
		default:
			it, b = keyCount{b[0].key >> (out.low - o.low), b[0].n}, b[1:]
		}
		out.put(it)
	}
	return out.cut()
}

// put adds an interval that is not below the last.
func (h *histogram) put(it keyCount) {
	if n := len(h.items); n > 0 && h.items[n-1].key == it.key {
		h.items[n-1].n += it.n
		return
	}
	h.items = append(h.items, it)
}

func (h histogram) cut() histogram {
	for len(h.items) > histogramSize {
		out := histogram{low: h.low + 1, items: h.items[:0]}
		for _, it := range h.items {
			out.put(keyCount{it.key >> 1, it.n})
		}
		h = out
	}
	return h
}

// bins divides the values into at most so many bins of about the same number, by the least value of each but the
// first.
func (h histogram) bins(most int) (edges []float64, counts []int64) {
	var total, sum int64
	for _, it := range h.items {
		total += it.n
	}
	counts = []int64{0}
	for i, it := range h.items {
		k := int64(len(counts))
		if i > 0 && (len(h.items) <= most || k < int64(most) && float64(sum)*float64(most) >= float64(k)*float64(total)) {
			edges, counts = append(edges, leastOf(it.key<<h.low)), append(counts, 0)
		}
		counts[len(counts)-1] += it.n
		sum += it.n
	}
	return edges, counts
}

// binOf returns how many edges are not above v.
func binOf(edges []float64, v float64) int {
	at, found := slices.BinarySearch(edges, v)
	if found {
		at++
	}
	return at
}
