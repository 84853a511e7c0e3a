package agg

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/sql/types"
)

// precisionFold is the average precision of scores that come in descending order: the mean, over
// the rows of a label, of the share of that label among the rows of at least their score. It is
// kept for both labels, as the greater one is known at the end alone.
type precisionFold struct {
	sides [2]precisionSide
	score int64 // of the rows that tie
	over  bool
}

type precisionSide struct {
	label     string
	any       bool
	rows, tie int
	sum       float64
}

func (f *precisionFold) add(label []byte, score int64) {
	if f.over {
		return
	}
	if score != f.score {
		f.ended()
		f.score = score
	}
	for i := range f.sides {
		switch d := &f.sides[i]; {
		case !d.any:
			d.label, d.any, d.tie = string(label), true, 1
			return
		case d.label == string(label):
			d.tie++
			return
		}
	}
	f.over = true
}

// ended counts the rows that tie.
func (f *precisionFold) ended() {
	a, b := &f.sides[0], &f.sides[1]
	all := float64(a.rows + a.tie + b.rows + b.tie)
	for i := range f.sides {
		if d := &f.sides[i]; d.tie > 0 {
			d.rows += d.tie
			d.sum += float64(float64(d.tie) * (float64(d.rows) / all))
			d.tie = 0
		}
	}
}

func (f *precisionFold) result() (types.Datum, error) {
	f.ended()
	a, b := &f.sides[0], &f.sides[1]
	if f.over || !b.any {
		return nil, nil
	}
	if b.label > a.label {
		a = b
	}
	return a.sum / float64(a.rows), nil
}

func (f *precisionFold) held() int64 { return 0 }

// averagePrecision is that of the keys of both labels' scores.
func averagePrecision(first, second *pairs.Keys) float64 {
	sorted := func(k *pairs.Keys) []uint64 {
		out := slices.Concat(k.Chunks...)
		slices.Sort(out)
		return out
	}
	f := &precisionFold{}
	a, b := sorted(first), sorted(second)
	f.sides[0], f.sides[1] = precisionSide{any: true, label: "1"}, precisionSide{any: true, label: "0"}
	for len(a)+len(b) > 0 {
		now := uint64(0) // the greatest that is left
		if len(a) > 0 {
			now = a[len(a)-1]
		}
		if len(b) > 0 {
			now = max(now, b[len(b)-1])
		}
		for ; len(a) > 0 && a[len(a)-1] == now; a = a[:len(a)-1] {
			f.sides[0].tie++
		}
		for ; len(b) > 0 && b[len(b)-1] == now; b = b[:len(b)-1] {
			f.sides[1].tie++
		}
		f.ended()
	}
	v, _ := f.result()
	return v.(float64)
}
