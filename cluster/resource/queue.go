package resource

import "slices"

// queue decides which statements of a group run: a state machine whose caller serialises Step.
//
//	Ask ──room──▶ running ──Leave──▶ gone
//	 ├──full───▶ refused
//	 └──▶ waiting, first come first served ──room──▶ running
//	          └──Leave──▶ gone
//
// A group without a limit admits everyone.
type queue struct {
	atOnce  int64 // 0: any number
	most    int64 // that may wait; -1: any number
	running map[uint64]struct{}
	waiting []uint64
}

type event interface{ event() }

// Events. IDs are of statements; one that is known does not ask again.
type (
	// ask is of a statement that wants to run. One with force does not wait: others may wait for what it holds.
	ask struct {
		id    uint64
		force bool
	}
	// leave is of a statement that has ended, or does not wait any longer.
	leave struct{ id uint64 }
	// limit changes the limits. Those that run or wait stay.
	limit struct{ atOnce, most int64 }
)

func (ask) event()   {}
func (leave) event() {}
func (limit) event() {}

// answer is what becomes of a statement that has asked.
type answer struct {
	id      uint64
	refused bool // else it runs
}

// step takes an event and returns the answers, in order; a statement that waits has none yet.
func (q *queue) step(e event) (out []answer) {
	switch e := e.(type) {
	case ask:
		_, runs := q.running[e.id]
		switch {
		case runs:
		case e.force || len(q.waiting) == 0 && q.room():
			q.waiting = slices.DeleteFunc(q.waiting, func(id uint64) bool { return id == e.id })
			out = append(out, q.run(e.id))
		case q.most >= 0 && int64(len(q.waiting)) >= q.most:
			out = append(out, answer{e.id, true})
		default:
			q.waiting = append(q.waiting, e.id)
		}
		return out
	case leave:
		delete(q.running, e.id)
		q.waiting = slices.DeleteFunc(q.waiting, func(id uint64) bool { return id == e.id })
	case limit:
		q.atOnce, q.most = e.atOnce, e.most
	}
	for len(q.waiting) > 0 && q.room() {
		id := q.waiting[0]
		q.waiting = q.waiting[1:]
		out = append(out, q.run(id))
	}
	return out
}

func (q *queue) room() bool { return q.atOnce == 0 || int64(len(q.running)) < q.atOnce }

func (q *queue) run(id uint64) answer {
	if q.running == nil {
		q.running = map[uint64]struct{}{}
	}
	q.running[id] = struct{}{}
	return answer{id: id}
}

// place is a statement's place among those that wait, 1 for the next; 0 if it does not.
func (q *queue) place(id uint64) int { return slices.Index(q.waiting, id) + 1 }
