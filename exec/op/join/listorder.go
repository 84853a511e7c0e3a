package join

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// listOrder makes the order of a table's lists once all rows are in them. Threads share the places of heads:
//
//	count   lists and rows of each piece of the places ─▶ are lists long? is there memory? where does each piece begin?
//	read    the values of each chunk
//	fill    each list of a piece, sorted; its head becomes its number
//
// A table without keys is one list.
type listOrder struct {
	t      *hashTable
	pieces []orderPiece
	rows   int
	lists  int
	values []rangeValues // by chunk
	made   *order
	ids    []uint32
}

// orderPiece is a run of the places of heads.
type orderPiece struct {
	from, to    int
	lists, rows int   // first how many there are, then how many are before
	squares     int64 // of the lengths of lists
}

// rangeValues are a chunk's values of the columns of the ranges, and which rows have none.
type rangeValues struct {
	by, other []int64
	null      []bool
}

type orderedRow struct {
	key int64
	id  uint32
}

// pieceHeads is how many places of heads a thread takes at once.
const pieceHeads = 1 << 14

// newListOrder begins to make an order; nil where there is none to make.
func newListOrder(t *hashTable) *listOrder {
	l := &listOrder{t: t}
	heads := 1
	switch {
	case t.cfg.ranges == nil:
		return nil
	case len(t.keys) == 0:
	case t.next == nil:
		return nil
	case t.direct:
		heads = len(t.heads)
	default:
		heads = len(t.slots)
	}
	for from := 0; from < heads; from += pieceHeads {
		l.pieces = append(l.pieces, orderPiece{from: from, to: min(heads, from+pieceHeads)})
	}
	return l
}

// head returns the head of the list at a place; 0 for none.
func (l *listOrder) head(at int) uint32 {
	switch {
	case len(l.t.keys) == 0:
		return 1
	case l.t.direct:
		return l.t.heads[at]
	}
	return uint32(l.t.slots[at])
}

func (l *listOrder) setHead(at int, head uint32) {
	switch {
	case len(l.t.keys) == 0:
	case l.t.direct:
		l.t.heads[at] = head
	default:
		l.t.slots[at] = l.t.slots[at]>>32<<32 | uint64(head)
	}
}

// count counts what there is in a piece.
func (l *listOrder) count(piece int) {
	p := &l.pieces[piece]
	if len(l.t.keys) == 0 {
		p.lists, p.rows = 1, int(l.t.rows.Rows())
		return
	}
	for at := p.from; at < p.to; at++ {
		n := 0
		for c := l.head(at); c != 0; c = l.t.next[c-1] {
			n++
		}
		if n > 0 {
			p.lists++
			p.rows += n
			p.squares += int64(n) * int64(n)
		}
	}
}

// begin makes room for the order, after all is counted, if it is worth it. Optional memory is charged to acct; nil where
// it is paid for.
func (l *listOrder) begin(acct *mem.Account) {
	squares := int64(0)
	for i := range l.pieces {
		p := &l.pieces[i]
		p.lists, l.lists = l.lists, l.lists+p.lists
		p.rows, l.rows = l.rows, l.rows+p.rows
		squares += p.squares
	}
	if len(l.t.keys) > 0 && squares < rewrite.LongLists*int64(l.rows) {
		return
	}
	if kept, making := l.t.cfg.ranges.orderBytes(); acct != nil && !acct.Try(int64(l.rows)*(kept+making)) {
		return
	}
	l.made = &order{lists: make([]extent, l.lists), keys: make([]int64, l.rows)}
	if l.t.cfg.ranges.other >= 0 {
		l.made.levels = [][]int64{make([]int64, l.rows)}
	}
	l.ids = make([]uint32, l.rows)
	l.values = make([]rangeValues, l.t.rows.Chunks())
}

// read reads the values of a chunk.
func (l *listOrder) read(ch int) {
	c, v := l.t.cfg.ranges, &l.values[ch]
	arr := l.t.rows.Column(c.by).Chunk(ch)
	v.by, v.null = ordered(arr, nil), addNulls(nil, arr, 0)
	if c.other >= 0 {
		arr = l.t.rows.Column(c.other).Chunk(ch)
		v.other, v.null = ordered(arr, nil), addNulls(v.null, arr, 0)
		for i, x := range v.other {
			v.other[i] = c.turned(x)
		}
	}
}

// fill sorts the lists of a piece. scratch is a thread's.
func (l *listOrder) fill(piece int, scratch []orderedRow) []orderedRow {
	p, o := &l.pieces[piece], l.made
	list, end := p.lists, p.rows
	for at := p.from; at < p.to; at++ {
		head := l.head(at)
		if head == 0 {
			continue
		}
		scratch = l.rowsOf(head, scratch[:0])
		slices.SortFunc(scratch, func(a, b orderedRow) int {
			if a.key != b.key {
				return cmp.Compare(a.key, b.key)
			}
			return cmp.Compare(a.id, b.id)
		})
		from := end
		for _, r := range scratch {
			o.keys[end], l.ids[end] = r.key, r.id
			if o.levels != nil {
				ch, i := kernel.SplitID(r.id)
				o.levels[0][end] = l.values[ch].other[i]
			}
			end++
		}
		o.lists[list] = extent{uint32(from), uint32(end)}
		list++
		l.setHead(at, uint32(list))
	}
	return scratch
}

// rowsOf adds the rows of a list that have values.
func (l *listOrder) rowsOf(head uint32, to []orderedRow) []orderedRow {
	add := func(id uint32) {
		ch, i := kernel.SplitID(id)
		if v := &l.values[ch]; v.null == nil || !v.null[i] {
			to = append(to, orderedRow{v.by[i], id})
		}
	}
	if len(l.t.keys) == 0 {
		for _, id := range l.t.rows.IDs() {
			add(id)
		}
		return to
	}
	for c := head; c != 0; c = l.t.next[c-1] {
		add(c - 1)
	}
	return to
}

// end puts the order into the table in place of its lists.
func (l *listOrder) end(acct *mem.Account) {
	if l.made.levels != nil {
		l.made.raise()
	}
	l.t.order, l.t.all, l.t.next = l.made, l.ids, nil
	if acct != nil {
		_, making := l.t.cfg.ranges.orderBytes()
		acct.Shrink(int64(l.rows) * making)
	}
}

// make makes the order, if lists are long. each does something for each of so many things, with all threads that make
// this order, and then once then. acct: see begin.
func (l *listOrder) make(each func(n int, do func(i int), then func()) error, acct *mem.Account) error {
	if err := each(len(l.pieces), l.count, func() { l.begin(acct) }); err != nil || l.made == nil {
		return err
	}
	if err := each(l.t.rows.Chunks(), l.read, func() {}); err != nil {
		return err
	}
	var scratch []orderedRow
	return each(len(l.pieces), func(i int) { scratch = l.fill(i, scratch) }, func() { l.end(acct) })
}
