package train

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
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

// apartRow is a row whose copies are counted separately.
type apartRow struct {
	n    atomic.Int64
	late atomic.Bool    // copies may have been read before
	one  *feature.Stats // of one copy, nil before the first; guarded by flow.mu
}

// flowedBy is a Bloom filter (Bloom 1970), with two bits set for each row, of the
// rows that may have been read without being counted. Frequent rows are detected
// while few bits are set.
type flowedBy [1 << 15]atomic.Uint64

const flowedBytes = 8 << 15

// bits returns the positions of a row's bits.
func (f *flowedBy) bits(h *block.RowHash) [2]uint64 {
	const mask = 64<<15 - 1
	return [2]uint64{binary.BigEndian.Uint64(h[:]) & mask, binary.BigEndian.Uint64(h[8:]) & mask}
}

func (f *flowedBy) add(h block.RowHash) {
	for _, b := range f.bits(&h) {
		if word, bit := &f[b/64], uint64(1)<<(b%64); word.Load()&bit == 0 {
			word.Or(bit)
		}
	}
}

func (f *flowedBy) has(h block.RowHash) bool {
	for _, b := range f.bits(&h) {
		if f[b/64].Load()>>(b%64)&1 == 0 {
			return false
		}
	}
	return true
}

const (
	maxApart    = 2048
	apartBytes  = 128  // of a row without its statistics
	apartSample = 4096 // rows that are sampled to find frequent ones
	apartIn     = 1024 // a row seems frequent if more than one sampled row in so many is a copy of it
)

// seem returns the rows that seem frequent, by a sample spread over all of the given
// rows: so a row that becomes frequent is detected before many of its copies have been
// read.
func seem(rows int, hash func(i int) block.RowHash) (list []block.RowHash) {
	n := min(rows, apartSample)
	seen := make(map[block.RowHash]int, n)
	for i := range n {
		from, to := i*rows/n, (i+1)*rows/n
		h := hash(from + i*40503>>4%(to-from)) // not equidistant: rows may repeat periodically
		if seen[h]++; seen[h] == max(n/apartIn, 2)+1 {
			list = append(list, h)
		}
	}
	return list
}

// only restricts separate counting to these rows from now on.
func (f *flow) only(rows []block.RowHash) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.charge(-f.apartBytes())
	f.apart, f.fixed, f.before = make(map[block.RowHash]*apartRow, len(rows)), true, nil
	for _, h := range rows {
		f.apart[h] = &apartRow{}
	}
	f.charge(f.apartBytes())
}

// apartBytes returns what is charged for rows counted separately.
func (f *flow) apartBytes() (n int64) {
	if f.before != nil {
		n = flowedBytes
	}
	for _, r := range f.apart {
		n += apartBytes + r.one.Bytes()
	}
	return n
}

// sift counts copies of the rows that are counted separately, and reports for each row
// whether it is one; nil for none. one returns the statistics of a row.
func (f *flow) sift(rows int, hash func(i int) block.RowHash, one func(i int) (*feature.Stats, error)) (apart []bool, err error) {
	var list []block.RowHash
	f.mu.Lock()
	if f.before == nil && !f.fixed {
		f.before = &flowedBy{}
		f.charge(flowedBytes)
	}
	before := f.before
	f.mu.Unlock()
	if before != nil {
		list = seem(rows, hash)
	}
	f.mu.Lock()
	if len(list) > 0 {
		f.apart = maps.Clone(f.apart) // copied, since others read it
		if f.apart == nil {
			f.apart = map[block.RowHash]*apartRow{}
		}
		for _, h := range list {
			if f.apart[h] == nil && len(f.apart) < maxApart {
				r := &apartRow{}
				r.late.Store(before.has(h))
				f.apart[h] = r
				f.charge(apartBytes)
			}
		}
	}
	known := f.apart
	f.mu.Unlock()
	if before != nil {
		defer func() { f.flowBy(before, known, rows, hash) }()
	}
	if len(known) == 0 {
		return nil, nil
	}
	apart = make([]bool, rows)
	count := map[*apartRow]int64{}
	for i := range apart {
		r := known[hash(i)]
		if r == nil {
			continue
		}
		apart[i] = true
		if count[r]++; count[r] == 1 {
			if err := f.first(r, i, one); err != nil {
				return nil, err
			}
		}
	}
	for r, n := range count {
		r.n.Add(n)
	}
	return apart, nil
}

// flowBy records those rows that are not counted separately yet. Rows that other
// goroutines have started to count meanwhile were read uncounted here.
func (f *flow) flowBy(before *flowedBy, known map[block.RowHash]*apartRow, rows int, hash func(i int) block.RowHash) {
	for i := range rows {
		if h := hash(i); known[h] == nil {
			before.add(h)
		}
	}
	f.mu.Lock()
	now := f.apart
	f.mu.Unlock()
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
func (f *flow) first(r *apartRow, i int, one func(i int) (*feature.Stats, error)) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.one != nil {
		return nil
	}
	if r.one, err = one(i); err == nil {
		f.charge(r.one.Bytes())
	}
	return err
}

// aparts returns the hashes of the rows counted separately, ascending.
func (f *flow) aparts() []block.RowHash {
	return slices.SortedFunc(maps.Keys(f.apart), func(a, b block.RowHash) int { return bytes.Compare(a[:], b[:]) })
}

// addCounts adds to the copies that a worker counted how many were counted separately:
// all, where none was read before.
func (f *flow) addCounts(c *holdout.Copies) *holdout.Copies {
	for i := range c.List {
		x := &c.List[i]
		r := f.apart[x.Hash]
		if r == nil {
			continue
		}
		if x.Apart = r.n.Load(); !r.late.Load() && c.Lossy > 0 {
			x.N, x.Whole = x.Apart, true
		}
	}
	return c
}

// addApart adds the statistics of the rows counted separately, of which h holds some
// out on node self; held says which parts of the zone are held out. A nil sum is empty.
func (f *flow) addApart(spec *feature.Spec, sum *feature.Stats, h *holdout.Holdout, held []bool, self int) (*feature.Stats, error) {
	mixed := map[block.RowHash]int64{} // copies not counted separately
	if f.seen != nil && f.readings == 0 {
		for _, c := range f.addCounts(f.seen.Clone()).List {
			mixed[c.Hash] = c.N - c.Apart
		}
	}
	for _, hash := range f.aparts() {
		r := f.apart[hash]
		n := r.n.Load()
		if n == 0 {
			continue
		}
		out, common := h.Quota(hash, self)
		switch drawn := held[f.zone.Part(hash)]; {
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
			st, err := spec.Times(r.one, n)
			if err != nil {
				return nil, err
			}
			if i == 1 {
				st = spec.Hold(st)
			}
			if sum == nil {
				sum = st
			} else if sum, err = spec.MergeStats(sum, st); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// holdouts returns what is held out, for each training.
func (r *runner) holdouts(c *holdout.Copies) (list []*holdout.Holdout) {
	perNode := r.job.InPlace() || r.in.Rescan != nil // else copies of a row are sent to the same node
	if n := r.job.Folds(); n > 0 {
		for fold := range n {
			list = append(list, c.Fold(fold, n, perNode))
		}
		return list
	}
	return append(list, c.Holdout(r.job.holdout(r.in.Rows), perNode))
}

// drawn reports whether it is known which of the rows read are held out, from
// statistics divided by a zone.
func (r *runner) drawn(c *holdout.Copies, z holdout.Bands) bool {
	return !slices.ContainsFunc(r.holdouts(c), func(h *holdout.Holdout) bool { return !z.Draws(h, c) })
}

// recount reads the query once more, to count the rows that may be frequent; these
// counts then replace those of c.
func (r *runner) recount(ctx context.Context, c *holdout.Copies) error {
	t := &recountTask{rows: c.Candidates()}
	for _, h := range r.holdouts(c) {
		t.cuts = append(t.cuts, h.From, h.Cut)
	}
	if _, err := r.reduce(ctx, t); err != nil {
		return err
	}
	if err := r.in.Rescan(ctx); err != nil {
		return err
	}
	again, err := r.copies(ctx, &copiesTask{rows: t.rows})
	if err != nil {
		return err
	}
	if c.List = again.List; !r.drawn(c, holdout.BandsAround(t.cuts)) {
		return errDraw
	}
	return nil
}

// recountTask prepares workers for a reading that takes statistics: those of the given
// rows separately, those of others by where the draw may be cut.
type recountTask struct {
	rows []block.RowHash
	cuts []int
}

func (t *recountTask) kind() uint8 { return kindRecount }

func (t *recountTask) Encode(e *canon.E) {
	(&copiesTask{t.rows}).Encode(e)
	e.U32(uint32(len(t.cuts)))
	for _, c := range t.cuts {
		e.Int(c)
	}
}

func decodeRecount(d *canon.D) *recountTask {
	t := &recountTask{rows: decodeCopies(d).rows}
	for range d.Count(8) {
		t.cuts = append(t.cuts, d.Int())
	}
	return t
}

func (t *recountTask) decode(_ *Job, d *canon.D) family.Message { return holdout.DecodeCopies(d) }

func (t *recountTask) merge(j *Job, left, right family.Message) (family.Message, error) {
	return (&copiesTask{}).merge(j, left, right)
}

// recount begins such a reading.
func (w *Worker) recount(t *recountTask) (*holdout.Copies, error) {
	if err := w.reread(); err != nil {
		return nil, err
	}
	w.flow.zone = holdout.BandsAround(t.cuts)
	w.flow.stats = make([]*feature.Stats, w.flow.zone.Parts())
	w.flow.only(t.rows)
	w.open(w.store.Layout())
	return &holdout.Copies{}, nil
}

// recounted ends it, and returns how many copies there are.
func (w *Worker) recounted() (*holdout.Copies, error) {
	out := &holdout.Copies{}
	err := w.drain()
	for _, h := range w.flow.aparts() {
		if n := w.flow.apart[h].n.Load(); n > 0 {
			out.List = append(out.List, holdout.Copy{Hash: h, Node: int32(w.self), N: n, Apart: n})
		}
	}
	return out, err
}
