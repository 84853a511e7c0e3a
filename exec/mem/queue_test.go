package mem

import (
	"math/rand"
	"slices"
	"testing"
)

// slowQueue is a slow reference of queue: a list of all waiting items, and for each role the time
// of its last turn.
type slowQueue struct {
	wait []*item // in order of arrival
	in   []*item
	most int
	turn map[uint32]int // when the role joined the queue or last had its turn
	now  int
}

func (s *slowQueue) held() (n int64) {
	for _, i := range s.in {
		n += i.need
	}
	return n
}

// first is the item to admit next.
func (s *slowQueue) first() *item {
	var best *item
	for _, i := range s.wait {
		if best == nil || s.turn[i.role] < s.turn[best.role] {
			best = i
		}
	}
	return best
}

func (s *slowQueue) room(i *item, room int64) bool {
	return len(s.in) == 0 || len(s.in) < s.most && s.held()+i.need <= room
}

func (s *slowQueue) come(i *item) {
	s.now++
	if !slices.ContainsFunc(s.wait, func(o *item) bool { return o.role == i.role }) {
		s.turn[i.role] = s.now
	}
	s.wait = append(s.wait, i)
}

// serve admits the next item, even without room for it if free.
func (s *slowQueue) serve(room int64, free bool) *item {
	i := s.first()
	if i == nil || !free && !s.room(i, room) {
		return nil
	}
	s.now++
	s.turn[i.role] = s.now
	s.wait = slices.DeleteFunc(s.wait, func(o *item) bool { return o == i })
	s.in = append(s.in, i)
	return i
}

// place returns the position of an item in the queue: how many turns until it is admitted.
func (s *slowQueue) place(i *item) int {
	c := &slowQueue{wait: slices.Clone(s.wait), turn: map[uint32]int{}, now: s.now}
	for r, t := range s.turn {
		c.turn[r] = t
	}
	for n := 1; ; n++ {
		if c.serve(0, true) == i {
			return n
		}
	}
}

// TestQueue compares queue with slowQueue over random events.
func TestQueue(t *testing.T) {
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed))
		most := 1 + r.Intn(8)
		q, s := &queue{most: most}, &slowQueue{most: most, turn: map[uint32]int{}}
		for step := range 300 {
			room := r.Int63n(60) - 10
			switch k := r.Intn(10); {
			case k < 4:
				i := &item{role: uint32(r.Intn(4)), need: 1 + r.Int63n(20)}
				got, want := q.ask(i, room), len(s.wait) == 0 && s.room(i, room)
				if got != want {
					t.Fatalf("seed %d step %d: ask gives %v", seed, step, got)
				}
				switch {
				case got:
					s.in = append(s.in, i)
				case r.Intn(8) == 0:
					q.hold(i)
					s.in = append(s.in, i)
				default:
					q.wait(i)
					s.come(i)
				}
			case k < 6 && len(s.in) > 0:
				at := r.Intn(len(s.in))
				q.leave(s.in[at])
				s.in = slices.Delete(s.in, at, at+1)
			case k < 7 && len(s.wait) > 0:
				at := r.Intn(len(s.wait))
				q.leave(s.wait[at])
				s.wait = slices.Delete(s.wait, at, at+1)
			default:
				if got, want := q.next(room), s.serve(room, false); got != want {
					t.Fatalf("seed %d step %d: next is %v, want %v", seed, step, got, want)
				}
			}
			if q.held != s.held() || q.holding != len(s.in) || q.waiting != len(s.wait) {
				t.Fatalf("seed %d step %d: %d bytes, %d in, %d wait", seed, step, q.held, q.holding, q.waiting)
			}
			if step%10 != 0 {
				continue
			}
			for _, i := range s.wait {
				if got, want := q.place(i), s.place(i); got != want {
					t.Fatalf("seed %d step %d: place %d, want %d", seed, step, got, want)
				}
			}
		}
		// No starvation: without room for more than one at a time, everyone has a turn.
		for _, i := range s.in {
			q.leave(i)
		}
		for n := len(s.wait); n > 0; n-- {
			i := q.next(-1)
			if i == nil || q.next(-1) != nil {
				t.Fatalf("seed %d: not one by one", seed)
			}
			q.leave(i)
		}
	}
}
