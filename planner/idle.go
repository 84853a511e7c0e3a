package planner

import "sync"

// Idle keeps what runs of a generic plan have made of its nodes, for the runs to come: each thing is one run's at a time.
type Idle struct {
	mu sync.Mutex
	of map[any][]any
}

// idleEach is how many runs at once find something.
const idleEach = 4

// Take returns a thing that was made of something, nil for none.
func (i *Idle) Take(of any) any {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	list := i.of[of]
	if len(list) == 0 {
		return nil
	}
	last := len(list) - 1
	x := list[last]
	list[last] = nil
	i.of[of] = list[:last]
	return x
}

// Put gives a thing back, which must not hold anything of its run. The first of a plan is not kept: most texts with their
// values in them come once.
func (i *Idle) Put(of, x any) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil {
		i.of = map[any][]any{}
	}
	list, again := i.of[of]
	if again && len(list) < idleEach {
		list = append(list, x)
	}
	i.of[of] = list
}
