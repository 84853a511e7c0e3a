package store

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/exec/store/hashindex"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// keyMarks help to find a key among segments of one row, which a table has by the thousand when
// rows are inserted one by one, until compaction has merged them. Beside a partition's list of
// segments lies one of hashes, so that a look-up passes over them as over an array of numbers.
// Beside a larger one lies its index, once it was used. Where there is no memory for marks a
// look-up does without.
type keyMarks struct {
	acct *mem.Account // nil: nobody counts them
	mu   sync.Mutex
	of   map[markKey]*partMarks
}

type markKey struct {
	table, key types.OID
	part       int
}

// partMarks are the marks of a partition at the last look-up. The next list of segments has some
// more, fewer, or others in their place.
type partMarks struct {
	segs []*catalog.Segment
	markList
	filterBytes int64 // of the filters
	bytes       int64 // charged
	room        int   // for so many marks
}

// markList lies beside a list of segments. Readers keep it while it grows; they may set places and
// learned.
type markList struct {
	marks   []uint64
	at      []*keyPlace        // what is known of the key in each
	filters []hashindex.Filter // by segment: the index's filter, as of the last gather
	learned *atomic.Bool       // places have learned more by now
}

// cut returns the list of the first n segments.
func (l markList) cut(n int) markList {
	return markList{l.marks[:n], l.at[:n], l.filters[:n], l.learned}
}

// keyPlace is where a reader records a segment's state of the key.
type keyPlace = atomic.Pointer[segmentKey]

// add appends marks of segments.
func (p *partMarks) add(segs []*catalog.Segment, mark func(*catalog.Segment) uint64) {
	if n := len(p.marks) + len(segs); n > cap(p.marks) || n > cap(p.filters) {
		p.grow(p.markList, len(p.marks), n)
	}
	for _, g := range segs {
		p.marks, p.at, p.filters = append(p.marks, mark(g)), append(p.at, &keyPlace{}), append(p.filters, nil)
	}
}

// grow makes new lists that begin with the first of another's, with room for n and some more.
func (p *partMarks) grow(from markList, first, n int) {
	p.marks = append(make([]uint64, 0, roomFor(n)), from.marks[:first]...)
	p.at = append(make([]*keyPlace, 0, roomFor(n)), from.at[:first]...)
	p.filters = append(make([]hashindex.Filter, 0, roomFor(n)), from.filters[:first]...)
}

// gather copies the filters of known indexes side by side, if there is memory for them: they may
// outlive an index.
func (p *partMarks) gather(acct *mem.Account) {
	filters := make([]hashindex.Filter, len(p.at), roomFor(len(p.at)))
	p.filterBytes = 0
	for i, x := range p.at {
		known := x.Load()
		if known == nil {
			continue
		}
		if index := known.Peek(); index != nil {
			filters[i] = index.Filter()
			p.filterBytes += int64(len(filters[i])) * 8
		}
	}
	if !p.hold(acct, p.room) {
		clear(filters)
		p.filterBytes = 0
	}
	p.filters = filters
}

// hold charges what so many marks will take, and reports whether there is memory for
// them.
func (p *partMarks) hold(acct *mem.Account, marks int) bool {
	n := p.filterBytes + int64(marks)*int64(unsafe.Sizeof(p.marks[0])+unsafe.Sizeof(p.at[0])+unsafe.Sizeof(p.filters[0])+unsafe.Sizeof(keyPlace{}))
	switch {
	case acct == nil:
	case n < p.bytes:
		acct.Shrink(p.bytes - n)
	case !acct.Try(n - p.bytes):
		return false
	}
	p.bytes, p.room = n, marks
	return true
}

// drop releases what is charged.
func (p *partMarks) drop(acct *mem.Account) {
	p.filterBytes = 0
	p.hold(acct, 0)
}

// roomFor returns the capacity of a list of so many marks.
func roomFor(marks int) int { return marks + marks/4 }

const (
	// noMark is a segment that has no mark.
	noMark = 0
	// markSegments is the least number of segments of a partition that is worth marks.
	markSegments = 16
	maxMarked    = 1024
	// resyncs is how often two lists may diverge before the marks are made anew.
	resyncs = 32
)

// marks returns the marks of a partition's segments, in their order, and their states of the key,
// which the reader may fill in; it is empty for few segments.
func (m *keyMarks) marks(s *Store, k *Key, part int, segs []*catalog.Segment) markList {
	if len(segs) < markSegments {
		return markList{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := markKey{k.table, k.id, part}
	old := m.of[at]
	if old == nil {
		old = &partMarks{markList: markList{learned: &atomic.Bool{}}}
		if m.of == nil || len(m.of) >= maxMarked {
			for _, p := range m.of {
				p.drop(m.acct)
			}
			m.of = map[markKey]*partMarks{}
		}
		m.of[at] = old
	}
	mark := func(g *catalog.Segment) uint64 { return s.mark(g, k) }
	n, same := len(old.segs), old.meets(segs)
	switch {
	case same == len(segs) && same < n:
		return old.cut(same) // the list of an earlier state
	case (n == 0 || same < n || len(segs) > cap(old.marks)) && !old.hold(m.acct, roomFor(len(segs))):
		old.drop(m.acct)
		delete(m.of, at)
		return markList{}
	case same == n:
		old.add(segs[n:], mark)
	default:
		old.follow(segs, same, mark)
	}
	old.segs = segs
	if old.learned.Swap(false) {
		old.gather(m.acct)
	}
	return old.markList
}

// meets returns how many segments another list begins with that are the same, some of them perhaps
// with more rows deleted.
func (p *partMarks) meets(now []*catalog.Segment) int {
	n := min(len(p.segs), len(now))
	if n == 0 || &p.segs[0] == &now[0] {
		return n
	}
	was := p.segs[:n]
	for i, g := range now[:n] {
		if was[i] != g && was[i].ID != g.ID {
			return i
		}
	}
	return n
}

// follow makes the marks those of another list of segments, the first of which are the
// same.
func (p *partMarks) follow(now []*catalog.Segment, same int, mark func(*catalog.Segment) uint64) {
	was, old := p.segs, p.markList
	p.grow(old, same, len(now))
	parted := 0
	for i := same; len(p.marks) < len(now); {
		rest := now[len(p.marks):]
		n := 0
		for n < len(rest) && i+n < len(was) && (was[i+n] == rest[n] || was[i+n].ID == rest[n].ID) {
			n++
		}
		if n > 0 {
			p.marks, p.at, p.filters = append(p.marks, old.marks[i:i+n]...), append(p.at, old.at[i:i+n]...), append(p.filters, old.filters[i:i+n]...)
			i += n
			continue
		}
		// Segments were removed here: continue where the two lists agree again.
		if parted++; parted <= resyncs && i < len(was) {
			if n := slices.Index(was[i:], rest[0]); n >= 0 {
				i += n
				continue
			}
		}
		p.add(rest[:1], mark)
	}
}

// mark returns the hash of a key in a segment of one row.
func (s *Store) mark(g *catalog.Segment, k *Key) uint64 {
	if g.Rows != 1 || g.Inline == nil {
		return noMark
	}
	if len(k.nums) == 1 && prune.KindOf(k.types[0]) == types.ClassInteger {
		for i := range g.Zones { // which determine an integer exactly
			if v, ok := g.Zones[i].Min.(int64); ok && g.Zones[i].Column == k.nums[0] {
				return kernel.HashInt(v)
			}
		}
	}
	seg, err := s.acquireInline(g)
	if err != nil {
		return noMark // its reader reports the damage
	}
	h, err := seg.keyHashes(k.nums, k.types)
	if err != nil || h == nil {
		return noMark
	}
	return h[0]
}
