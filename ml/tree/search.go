package tree

import (
	"math"
	"slices"
)

// choice is the best way found to split a node.
type choice struct {
	col, thr    int
	set         set
	gain        float64
	left, right []int64 // sums of the children
	more        float64 // penalty of the children's values
}

// searcher finds splits. Sums come as integers; a node's are gradient and
// curvature, or a forest's votes by class. The gain is that of XGBoost (Chen and
// Guestrin, "XGBoost: A Scalable Tree Boosting System", 2016, equation 7), which
// without penalties is the fall of the variance, and with votes that of Gini's
// impurity.
type searcher struct {
	p            *problem
	b            *bins
	gUnit, hUnit float64 // the scale of the sums
	votes        bool
	order        []int // scratch: categories
	rank         []float64
	ranked       []ranked
	right        []int64
	run          prefix
	// Of a bound that is the best choice so far: the left child's sums, and whether missing values go there.
	left     [2]int64
	missLeft bool
}

// prefix are the sums of a number column's bins up to each that has rows, in their order.
type prefix struct {
	n    int
	bin  [maxBins]uint8
	g, h [maxBins]int64
}

// ranked is a category and its sort key.
type ranked struct {
	rank float64
	bin  int
}

// unpack splits packed sums into gradient and curvature.
func unpack(pairs, packed []int64, shift uint) {
	shift &= 63
	for i, v := range packed {
		pair := pairs[2*i:][:2]
		pair[0], pair[1] = v>>shift, v&(1<<shift-1)
	}
}

// alone returns a copy of the searcher for another goroutine.
func (s *searcher) alone() *searcher {
	return &searcher{p: s.p, b: s.b, gUnit: s.gUnit, hUnit: s.hUnit, votes: s.votes}
}

// Limits on splits by category, those of LightGBM (cat_smooth, cat_l2,
// max_cat_threshold, min_data_per_group), because with many categories of few rows
// the best split fits noise: the value that categories are sorted by is shrunk by
// categorySmooth rows, the L2 penalty is larger, one side has a limited number of
// categories, and splits are tried only where each side and the rows since the
// last one tried are enough. Rows are counted by their curvature, in units of the
// mean row's.
const (
	categorySmooth = 10
	categoryL2     = 10
	categoryMost   = 32
	categoryFew    = 4 // up to so many categories none of these limits apply
	categoryLeast  = 10
	categoryGroup  = 100
)

// soft returns the gradient, soft-thresholded by the L1 penalty.
func soft(g, l1 float64) float64 {
	switch {
	case g > l1:
		return g - l1
	case g < -l1:
		return g + l1
	}
	return 0
}

// score returns twice the gain of a node of gradient g and curvature h at its best
// value.
func (s *searcher) score(g, h, l2 float64) float64 {
	if h+l2 <= 0 {
		return 0
	}
	t := soft(g, s.p.l1)
	return t * t / (h + l2)
}

// value returns that value, clipped to bounds.
func (s *searcher) value(g, h, l2, lo, hi float64) float64 {
	if h+l2 <= 0 {
		return min(max(0, lo), hi)
	}
	return min(max(-soft(g, s.p.l1)/(h+l2), lo), hi)
}

// scoreAt returns twice the gain at a value that need not be the best.
func (s *searcher) scoreAt(g, h, l2, v float64) float64 {
	return -(float64(2*g*v) + float64((h+l2)*v*v) + float64(2*s.p.l1*math.Abs(v)))
}

// weight returns the curvature of sums, or the weight of votes.
func (s *searcher) weight(sum []int64) float64 {
	if !s.votes {
		return float64(sum[1]) * s.hUnit
	}
	var n int64
	for _, v := range sum {
		n += v
	}
	return float64(n) * s.hUnit
}

// scoreVotes returns the sum of squares of votes divided by their number.
func (s *searcher) scoreVotes(sum []int64) float64 {
	var n int64
	q := 0.0
	for _, v := range sum {
		n += v
		f := float64(v) * s.hUnit
		q += float64(f * f)
	}
	if n == 0 {
		return 0
	}
	return q / (float64(n) * s.hUnit)
}

// scoreOf returns score or scoreVotes of sums.
func (s *searcher) scoreOf(sum []int64, l2 float64) float64 {
	if s.votes {
		return s.scoreVotes(sum)
	}
	return s.score(float64(sum[0])*s.gUnit, float64(sum[1])*s.hUnit, l2)
}

// best returns the best split of a node by some columns, nil for all, of them those that are
// allowed, nil for all, or nil where none gains. hist is the node's histogram: pairs of sums bin by bin, or votes
// bin by bin, class after class; few, if not nil, has the pairs instead. perRow is the curvature of the tree's mean row.
func (s *searcher) best(n *growNode, cols []int, allowed []bool, hist []int64, few *sparse, perRow float64) *choice {
	var best choice
	bar := float64(1e-12 * math.Abs(s.scoreOf(n.sum, s.p.l2)))
	each := len(hist) / len(n.sum)
	at := 0
	count := len(s.b.cols)
	if cols != nil {
		count = len(cols)
	}
	for j := range count {
		from := s.b.cols[j].at
		if cols != nil {
			j, from = cols[j], at
		}
		c := &s.b.cols[j]
		if at += c.room; c.stride == 0 || allowed != nil && !allowed[j] {
			continue
		}
		switch {
		case few != nil && c.category:
			s.categories(n, j, few.pairs(c, from, j), 0, c.stride, perRow, &best)
		case few != nil:
			gm, hm := few.prefix(c, from, j, &s.run)
			s.number(n, j, gm, hm, &best)
		case c.category:
			s.categories(n, j, hist, from, each, perRow, &best)
		case s.votes:
			s.votesByNumber(n, j, hist, from, each, &best)
		default:
			h := hist[2*from:][:2*c.stride]
			s.run.of(h[:2*c.n])
			s.number(n, j, h[2*c.miss()], h[2*c.miss()+1], &best)
		}
	}
	if !(best.gain > bar && best.gain > s.p.minGain) {
		return nil
	}
	if best.left == nil { // of number
		best.set, best.left = numberSet(&s.b.cols[best.col], best.thr, s.missLeft), []int64{s.left[0], s.left[1]}
		best.right = less(n.sum, best.left)
	}
	return &best
}

// of makes the prefix sums of pairs.
func (r *prefix) of(h []int64) {
	var g1, h1 int64
	r.n = 0
	for b := 0; b+1 < len(h); b += 2 {
		if gb, hb := h[b], h[b+1]; gb != 0 || hb != 0 {
			g1, h1 = g1+gb, h1+hb
			r.add(b/2, g1, h1)
		}
	}
}

func (r *prefix) add(bin int, g, h int64) {
	r.bin[r.n], r.g[r.n], r.h[r.n] = uint8(bin), g, h
	r.n++
}

// number tries all bounds of a number column, whose prefix sums are in s.run and the sums of whose missing values
// are given.
func (s *searcher) number(n *growNode, j int, gm, hm int64, best *choice) {
	c, r := &s.b.cols[j], &s.run
	gt, ht := n.sum[0], n.sum[1]
	missing := gm != 0 || hm != 0
	if !missing && r.n > 0 && int(r.bin[r.n-1]) == c.n-1 {
		r.n-- // at the last bound all values go left, only missing ones right
	}
	top := best.gain
	if !s.p.forest {
		top *= 2
	}
	found, missLeft := -1, false
	if missing || s.p.l1 != 0 || s.bounded(n, j) {
		found, missLeft, top = s.bound(n, j, gm, hm, top)
	} else {
		found, top = s.plainBound(gt, ht, top)
	}
	if found < 0 {
		return
	}
	s.left = [2]int64{r.g[found], r.h[found]}
	if missLeft {
		s.left[0] += gm
		s.left[1] += hm
	}
	if !missing { // a node without missing values sends later ones with the majority
		missLeft = 2*s.left[1] >= ht
	}
	if !s.p.forest {
		top /= 2
	}
	s.missLeft = missLeft
	*best = choice{col: j, thr: int(r.bin[found]), gain: top}
}

// bounded reports whether a node's value, or its children's by a column, have bounds.
func (s *searcher) bounded(n *growNode, j int) bool {
	return !math.IsInf(n.lo, -1) || !math.IsInf(n.hi, 1) || s.p.direction[j] != 0
}

// plainBound is bound without missing values, an L1 penalty or bounds of values, for which it computes the same.
func (s *searcher) plainBound(gt, ht int64, top float64) (found int, gain float64) {
	r, l2, least := &s.run, s.p.l2, s.p.minChild
	whole := s.score(float64(gt)*s.gUnit, float64(ht)*s.hUnit, l2)
	gUnit, hUnit := s.gUnit, s.hUnit
	// A bound whose gain is clearly below is passed over without dividing.
	bar := func() float64 {
		if all := float64(ht)*hUnit + l2; whole > 1e-100 && top+whole < 1e100 && all > 1e-50 && all < 1e50 {
			return (top + whole) * (1 - 1e-12)
		}
		return 0
	}
	pass := bar()
	found = -1
	for i := range r.n {
		h1 := r.h[i]
		lh, rh := float64(h1)*hUnit, float64(ht-h1)*hUnit
		if lh < least || rh < least || h1 == 0 || h1 == ht {
			continue
		}
		g1 := r.g[i]
		lg, rg := float64(g1)*gUnit, float64(gt-g1)*gUnit
		a, b, lg2, rg2 := lh+l2, rh+l2, float64(lg*lg), float64(rg*rg)
		if lg2*b+rg2*a < pass*a*b {
			continue
		}
		if gain := lg2/a + rg2/b - whole; gain > top {
			found, top = i, gain
			pass = bar()
		}
	}
	return found, top
}

// bound returns the best bound's place among the prefix sums, whether missing values go left, and twice the gain; -1
// if none gains more than top.
func (s *searcher) bound(n *growNode, j int, gm, hm int64, top float64) (found int, missLeft bool, gain float64) {
	c, r := &s.b.cols[j], &s.run
	l2, least := s.p.l2, s.p.minChild
	gt, ht := n.sum[0], n.sum[1]
	missing, bounded := gm != 0 || hm != 0, s.bounded(n, j)
	whole := 0.0
	if !bounded {
		whole = s.score(float64(gt)*s.gUnit, float64(ht)*s.hUnit, l2)
	} else {
		g, hh := float64(gt)*s.gUnit, float64(ht)*s.hUnit
		whole = s.scoreAt(g, hh, l2, s.value(g, hh, l2, n.lo, n.hi))
	}
	found = -1
	for i := range r.n {
		for side := range 2 {
			g1, h1 := r.g[i], r.h[i]
			if side == 1 {
				if !missing || int(r.bin[i]) == c.n-1 {
					break
				}
				g1, h1 = g1+gm, h1+hm
			}
			lg, lh := float64(g1)*s.gUnit, float64(h1)*s.hUnit
			rg, rh := float64(gt-g1)*s.gUnit, float64(ht-h1)*s.hUnit
			if lh < least || rh < least || h1 == 0 || h1 == ht {
				continue
			}
			var gain float64
			if !bounded {
				gain = s.score(lg, lh, l2) + s.score(rg, rh, l2) - whole
			} else {
				lv, rv := s.value(lg, lh, l2, n.lo, n.hi), s.value(rg, rh, l2, n.lo, n.hi)
				if d := float64(s.p.direction[j]); float64(d*lv) > float64(d*rv) {
					continue
				}
				gain = s.scoreAt(lg, lh, l2, lv) + s.scoreAt(rg, rh, l2, rv) - whole
			}
			if gain > top {
				found, top, missLeft = i, gain, side == 1
			}
		}
	}
	return found, missLeft, top
}

func less(a, b []int64) []int64 {
	out := make([]int64, len(a))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

func plus(a, b []int64) {
	for i, v := range b {
		a[i] += v
	}
}

// sums reads the sums of a bin.
func (s *searcher) sums(hist []int64, from, each, bin int, out []int64) []int64 {
	if !s.votes {
		copy(out, hist[2*(from+bin):][:2])
		return out
	}
	for k := range out {
		out[k] = hist[k*each+from+bin]
	}
	return out
}

// votesByNumber is number for votes.
func (s *searcher) votesByNumber(n *growNode, j int, hist []int64, from, each int, best *choice) {
	c := &s.b.cols[j]
	k := len(n.sum)
	miss := s.sums(hist, from, each, c.miss(), make([]int64, k))
	missing := s.weight(miss) > 0
	whole := s.scoreVotes(n.sum)
	left, bin := make([]int64, k), make([]int64, k)
	last := c.n - 1
	if missing {
		last = c.n
	}
	for b := range last {
		s.sums(hist, from, each, b, bin)
		if s.weight(bin) == 0 {
			continue
		}
		plus(left, bin)
		for side := range 2 {
			l := left
			if side == 1 {
				if !missing || b == c.n-1 {
					break
				}
				l = slices.Clone(left)
				plus(l, miss)
			}
			r := less(n.sum, l)
			lw, rw := s.weight(l), s.weight(r)
			if lw < s.p.minChild || rw < s.p.minChild || lw == 0 || rw == 0 {
				continue
			}
			if gain := s.scoreVotes(l) + s.scoreVotes(r) - whole; gain > best.gain {
				missLeft := side == 1
				if !missing {
					missLeft = lw >= rw
				}
				*best = choice{j, b, numberSet(c, b, missLeft), gain, slices.Clone(l), r, 0}
			}
		}
	}
}

// categories tries the splits of a category column: with the categories sorted by the
// value that each alone would get, the best of all splits of a sum of squares is one of
// a prefix (Fisher, "On grouping for maximum homogeneity", 1958). Of more than two
// classes they are sorted by the share of the node's first class, which need not find
// the best. Missing values are a category.
func (s *searcher) categories(n *growNode, j int, hist []int64, from, each int, perRow float64, best *choice) {
	c := &s.b.cols[j]
	k := len(n.sum)
	s.order, s.rank = s.order[:0], append(s.rank[:0], make([]float64, c.stride)...)
	main := 0
	for i, v := range n.sum {
		if s.votes && v > n.sum[main] {
			main = i
		}
	}
	bin := make([]int64, k)
	var seen set
	for b := range c.stride {
		if s.sums(hist, from, each, b, bin); s.weight(bin) > 0 {
			seen.add(b)
			s.order = append(s.order, b)
		}
	}
	smooth, more, most, group := 0.0, 0.0, len(s.order)-1, 0.0
	if !s.p.forest && len(s.order) > categoryFew {
		smooth, more = categorySmooth, categoryL2
		least := categoryLeast * perRow
		group = categoryGroup * perRow
		s.order = slices.DeleteFunc(s.order, func(b int) bool { s.sums(hist, from, each, b, bin); return s.weight(bin) < least })
		most = min(len(s.order), categoryMost, max((len(s.order)+1)/2, categoryFew))
	}
	l2 := s.p.l2 + more
	for _, b := range s.order {
		s.sums(hist, from, each, b, bin)
		g := float64(bin[0]) * s.gUnit
		if s.votes {
			g = float64(bin[main]) * s.hUnit
		}
		s.rank[b] = g / (s.weight(bin) + smooth)
	}
	s.arrange()
	whole := s.scoreOf(n.sum, s.p.l2)
	half := 1.0
	if !s.p.forest {
		half = 0.5
	}
	left := make([]int64, k)
	if len(s.right) < k {
		s.right = make([]int64, k)
	}
	for dir := range 2 {
		clear(left)
		since := 0.0
		for i := range most {
			b := s.order[i]
			if dir == 1 {
				if most == len(s.order)-1 && more == 0 {
					return // the reverse order has the same splits
				}
				b = s.order[len(s.order)-1-i]
			}
			s.sums(hist, from, each, b, bin)
			plus(left, bin)
			right := s.right[:k]
			for q, v := range left {
				right[q] = n.sum[q] - v
			}
			lw, rw := s.weight(left), s.weight(right)
			if since += s.weight(bin); since < group || rw < group || lw < s.p.minChild || rw < s.p.minChild || lw == 0 || rw == 0 {
				continue
			}
			since = 0
			gain := half * (s.scoreOf(left, l2) + s.scoreOf(right, l2) - whole)
			if gain <= best.gain || !s.within(n, left, right, l2) {
				continue
			}
			*best = choice{j, -1, set{}, gain, slices.Clone(left), slices.Clone(right), more}
			for q := range i + 1 {
				if dir == 1 {
					q = len(s.order) - 1 - q
				}
				best.set.add(s.order[q])
			}
			if lw >= rw { // categories that no row of the node has go with the majority
				for b := range c.stride {
					if !seen.has(b) {
						best.set.add(b)
					}
				}
			}
		}
	}
}

// arrange sorts the categories stably by their ranks.
func (s *searcher) arrange() {
	s.ranked = s.ranked[:0]
	for _, b := range s.order {
		s.ranked = append(s.ranked, ranked{s.rank[b], b})
	}
	slices.SortFunc(s.ranked, func(a, b ranked) int {
		switch { // ranks are not NaN, since categories of weight 0 are not ranked
		case a.rank < b.rank:
			return -1
		case a.rank > b.rank:
			return 1
		}
		return a.bin - b.bin
	})
	for i, r := range s.ranked {
		s.order[i] = r.bin
	}
}

// within reports whether the children's values are within the node's bounds; a
// split by category whose children's are not is not tried.
func (s *searcher) within(n *growNode, left, right []int64, l2 float64) bool {
	if s.votes || math.IsInf(n.lo, -1) && math.IsInf(n.hi, 1) {
		return true
	}
	for _, sum := range [][]int64{left, right} {
		g, h := float64(sum[0])*s.gUnit, float64(sum[1])*s.hUnit
		inf := math.Inf(1)
		if v := s.value(g, h, l2, -inf, inf); v < n.lo || v > n.hi {
			return false
		}
	}
	return true
}
