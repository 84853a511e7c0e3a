package rows

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
)

// How many copies of a frequent row are held out is known only when all rows have been
// read, and equal rows have equal draws. So where rows are not kept, copies of rows
// that seem frequent are counted separately, with the statistics of one copy: those of
// all copies are a multiple. Copies that were read before their row seemed frequent are
// in the statistics of its draw. That does no harm as long as the remaining copies
// suffice for the number to be held out. If they do not, or if there were so many
// distinct rows that it is uncertain which copies were read before, the query is read
// once more only to count, and by then it is known which rows to count.

// separate is the rows whose copies are counted separately.
type separate struct {
	rows  map[block.RowHash]*separateRow // never modified, but replaced
	fixed bool                           // no rows are added
	seen  *passed                        // which other rows were read
}

// separateRow is one of them.
type separateRow struct {
	n    atomic.Int64
	late atomic.Bool    // copies may have been read before
	one  *feature.Stats // of one copy, nil before the first; guarded by tally.mu
}

// passed is a Bloom filter (Bloom 1970), with two bits set for each row, of the
// rows that may have been read without being counted. Frequent rows are detected
// while few bits are set.
type passed [1 << 15]atomic.Uint64

const passedBytes = 8 << 15

// bits returns the positions of a row's bits.
func (f *passed) bits(h *block.RowHash) [2]uint64 {
	const mask = 64<<15 - 1
	return [2]uint64{binary.BigEndian.Uint64(h[:]) & mask, binary.BigEndian.Uint64(h[8:]) & mask}
}

func (f *passed) add(h block.RowHash) {
	for _, b := range f.bits(&h) {
		if word, bit := &f[b/64], uint64(1)<<(b%64); word.Load()&bit == 0 {
			word.Or(bit)
		}
	}
}

func (f *passed) has(h block.RowHash) bool {
	for _, b := range f.bits(&h) {
		if f[b/64].Load()>>(b%64)&1 == 0 {
			return false
		}
	}
	return true
}

const (
	mostSeparate = 2048
	rowBytes     = 128  // of a row without its statistics
	sampled      = 4096 // rows that are sampled to find frequent ones
	seemsIn      = 1024 // a row seems frequent if more than one sampled row in so many is a copy of it
)

// seem returns the rows that seem frequent, by a sample spread over all of the given
// rows: so a row that becomes frequent is detected before many of its copies have been
// read.
func seem(rows int, hash func(i int) block.RowHash) (list []block.RowHash) {
	n := min(rows, sampled)
	seen := make(map[block.RowHash]int, n)
	for i := range n {
		from, to := i*rows/n, (i+1)*rows/n
		h := hash(from + i*40503>>4%(to-from)) // not equidistant: rows may repeat periodically
		if seen[h]++; seen[h] == max(n/seemsIn, 2)+1 {
			list = append(list, h)
		}
	}
	return list
}

// only restricts separate counting to these rows from now on.
func (t *tally) only(rows []block.RowHash) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.charge(-t.separateBytes())
	t.separate.rows, t.fixed, t.separate.seen = make(map[block.RowHash]*separateRow, len(rows)), true, nil
	for _, h := range rows {
		t.separate.rows[h] = &separateRow{}
	}
	t.charge(t.separateBytes())
}

// separateBytes returns what is charged for rows counted separately.
func (t *tally) separateBytes() (n int64) {
	if t.separate.seen != nil {
		n = passedBytes
	}
	for _, r := range t.separate.rows {
		n += rowBytes + r.one.Bytes()
	}
	return n
}

// sift counts copies of the rows that are counted separately, and reports for each row
// whether it is one; nil for none. one returns the statistics of a row.
func (t *tally) sift(rows int, hash func(i int) block.RowHash, one func(i int) (*feature.Stats, error)) (apart []bool, err error) {
	var list []block.RowHash
	t.mu.Lock()
	if t.separate.seen == nil && !t.fixed {
		t.separate.seen = &passed{}
		t.charge(passedBytes)
	}
	before := t.separate.seen
	t.mu.Unlock()
	if before != nil {
		list = seem(rows, hash)
	}
	t.mu.Lock()
	if len(list) > 0 {
		t.separate.rows = maps.Clone(t.separate.rows) // copied, since others read it
		if t.separate.rows == nil {
			t.separate.rows = map[block.RowHash]*separateRow{}
		}
		for _, h := range list {
			if t.separate.rows[h] == nil && len(t.separate.rows) < mostSeparate {
				r := &separateRow{}
				r.late.Store(before.has(h))
				t.separate.rows[h] = r
				t.charge(rowBytes)
			}
		}
	}
	known := t.separate.rows
	t.mu.Unlock()
	if before != nil {
		defer func() { t.note(before, known, rows, hash) }()
	}
	if len(known) == 0 {
		return nil, nil
	}
	apart = make([]bool, rows)
	count := map[*separateRow]int64{}
	for i := range apart {
		r := known[hash(i)]
		if r == nil {
			continue
		}
		apart[i] = true
		if count[r]++; count[r] == 1 {
			if err := t.first(r, i, one); err != nil {
				return nil, err
			}
		}
	}
	for r, n := range count {
		r.n.Add(n)
	}
	return apart, nil
}

// note records those rows that are not counted separately yet. Rows that other
// goroutines have started to count meanwhile were read uncounted here.
func (t *tally) note(before *passed, known map[block.RowHash]*separateRow, rows int, hash func(i int) block.RowHash) {
	for i := range rows {
		if h := hash(i); known[h] == nil {
			before.add(h)
		}
	}
	t.mu.Lock()
	now := t.separate.rows
	t.mu.Unlock()
	if len(now) == len(known) {
		return
	}
	for i := range rows {
		if h := hash(i); known[h] == nil && now[h] != nil {
			now[h].late.Store(true)
		}
	}
}

// first takes the statistics of a copy, if it is the first one.
func (t *tally) first(r *separateRow, i int, one func(i int) (*feature.Stats, error)) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.one != nil {
		return nil
	}
	if r.one, err = one(i); err == nil {
		t.charge(r.one.Bytes())
	}
	return err
}

// separated returns the hashes of the rows counted separately, ascending.
func (t *tally) separated() []block.RowHash {
	return slices.SortedFunc(maps.Keys(t.separate.rows), func(a, b block.RowHash) int { return bytes.Compare(a[:], b[:]) })
}

// addCounts adds to the copies that a worker counted how many were counted separately:
// all, where none was read before.
func (t *tally) addCounts(c *holdout.Copies) *holdout.Copies {
	for i := range c.List {
		x := &c.List[i]
		r := t.separate.rows[x.Hash]
		if r == nil {
			continue
		}
		if x.Apart = r.n.Load(); !r.late.Load() && c.Lossy > 0 {
			x.N, x.Whole = x.Apart, true
		}
	}
	return c
}

// addSeparate adds the statistics of the rows counted separately, of which h holds some
// out; held says which bands are held out. A nil sum is empty.
func (t *tally) addSeparate(sum *feature.Stats, h *holdout.Holdout, held []bool, seen *holdout.Copies) (*feature.Stats, error) {
	mixed := map[block.RowHash]int64{} // copies not counted separately
	if seen != nil {
		for _, c := range t.addCounts(seen.Clone()).List {
			mixed[c.Hash] = c.N - c.Apart
		}
	}
	for _, hash := range t.separated() {
		r := t.separate.rows[hash]
		n := r.n.Load()
		if n == 0 {
			continue
		}
		out, common := h.Quota(hash, t.b.cfg.Self)
		switch drawn := held[t.bands.Part(hash)]; {
		case common && drawn:
			out -= mixed[hash]
		case drawn:
			out = n
		}
		out = min(max(out, 0), n) // the driver has made sure of it, unless the query returned other rows
		for i, n := range []int64{n - out, out} {
			if n == 0 {
				continue
			}
			st, err := t.b.Spec.Times(r.one, n)
			if err != nil {
				return nil, err
			}
			if i == 1 {
				st = t.b.Spec.Hold(st)
			}
			if sum == nil {
				sum = st
			} else if sum, err = t.b.Spec.MergeStats(sum, st); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// separately returns how often the rows occur that are counted separately.
func (t *tally) separately() *holdout.Copies {
	out := &holdout.Copies{}
	for _, h := range t.separated() {
		if n := t.separate.rows[h].n.Load(); n > 0 {
			out.List = append(out.List, holdout.Copy{Hash: h, Node: int32(t.b.cfg.Self), N: n, Apart: n})
		}
	}
	return out
}
