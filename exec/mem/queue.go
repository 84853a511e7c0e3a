package mem

// queue decides which statements may hold rows on a node, and in which order: a state machine
// without a clock or goroutines, whose caller serialises access.
//
//	ask ──room, nobody before it──▶ holding ──leave──▶ gone
//	 └───────▶ waiting ──its turn, room──▶ ┘
//	              └──────leave────────────────────────▶ gone
//
// Roles are served round robin, first come first served within a role, so that a role with many
// statements does not hold up others. The statement whose turn it is waits for memory and nobody
// passes it: one that needs much is not starved by those that need little. Where nobody holds, it
// is admitted regardless: however little memory there is, one statement at a time goes on.
type queue struct {
	roles   []*line // that wait, in the order of their turns
	held    int64   // what those that hold need
	most    int     // that hold at once, without those that are forced in
	holding int
	waiting int
}

// line are the waiting statements of a role, in the order in which they came.
type line struct {
	role  uint32
	items []*item
}

// item is a statement as the queue knows it.
type item struct {
	role   uint32
	need   int64
	charge int64 // of need, what its ticket charges
	state  itemState
}

type itemState uint8

const (
	outside itemState = iota
	waiting
	holding
)

// fits reports whether need fits beside those that hold, with room bytes for all.
func (q *queue) fits(need, room int64) bool {
	return q.holding == 0 || q.holding < q.most && q.held+need <= room
}

// hold admits an item, whatever room there is.
func (q *queue) hold(i *item) {
	q.held += i.need
	q.holding++
	i.state = holding
}

// ask admits an item if nobody waits and there is room.
func (q *queue) ask(i *item, room int64) bool {
	if q.waiting > 0 || !q.fits(i.need, room) {
		return false
	}
	q.hold(i)
	return true
}

// wait puts an item at the end of its role's line.
func (q *queue) wait(i *item) {
	i.state = waiting
	q.waiting++
	for _, l := range q.roles {
		if l.role == i.role {
			l.items = append(l.items, i)
			return
		}
	}
	q.roles = append(q.roles, &line{i.role, []*item{i}})
}

// next admits the item whose turn it is, if there is room, and returns it; nil otherwise.
func (q *queue) next(room int64) *item {
	if q.waiting == 0 || !q.fits(q.roles[0].items[0].need, room) {
		return nil
	}
	l := q.roles[0]
	i := l.items[0]
	l.items = l.items[1:]
	q.roles = q.roles[1:]
	if len(l.items) > 0 {
		q.roles = append(q.roles, l)
	}
	q.waiting--
	q.hold(i)
	return i
}

// leave takes an item out, wherever it is.
func (q *queue) leave(i *item) {
	switch i.state {
	case holding:
		q.held -= i.need
		q.holding--
	case waiting:
		q.waiting--
		for at, l := range q.roles {
			if l.role != i.role {
				continue
			}
			l.items = without(l.items, i)
			if len(l.items) == 0 {
				q.roles = without(q.roles, q.roles[at])
			}
			break
		}
	}
	i.state = outside
}

// place returns a waiting item's position in the order of turns, 1 for the next; 0 for one that
// does not wait.
func (q *queue) place(i *item) int {
	if i.state != waiting {
		return 0
	}
	own, before := 0, 0 // its place in its line, and the line's among the lines
	for at, l := range q.roles {
		if l.role == i.role {
			before = at
			for l.items[own] != i {
				own++
			}
			break
		}
	}
	n := own + 1
	for at, l := range q.roles {
		switch {
		case at < before: // that line has one more turn before the item's
			n += min(len(l.items), own+1)
		case at > before:
			n += min(len(l.items), own)
		}
	}
	return n
}

// without returns a list without one of its elements, leaving the list as it is.
func without[T comparable](list []T, x T) []T {
	out := make([]T, 0, len(list))
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}
