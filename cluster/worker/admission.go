package worker

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// Admission is a statement's permission to hold rows in memory: a ticket of exec/mem on
// each node where one of its plans runs, for as long as the plan runs, and on the
// gateway until the statement ends.
//
// A plan on several nodes asks all of them at once, without waiting. If one refuses,
// the tickets that were granted are returned, and the plan waits for them node by node
// in the order of their ids: a statement that waits for a node holds no ticket of a
// later one, so that two statements never deadlock.
//
// A statement that has begun does not queue again, nor does one whose session has
// another statement open: they hold tickets that others may wait for.
//
// Before all that a long statement takes a slot of its resource group, and has it as long as the tickets.
type Admission struct {
	role   types.OID
	group  *resource.Group
	slot   *resource.Slot
	ticket *mem.Ticket

	mu      sync.Mutex
	entered bool // it has taken its slot
	begun   bool
	past    bool // the session has another statement open
	resting bool
	runs    map[*attempt]struct{} // attempts with parts on other nodes
	node    string                // the node in whose queue it waits, if not this one
	place   int                   // its place in that queue
}

// Admission returns the admission of a statement of a role; pool is the statement's.
// Close it before the pool.
func (g *Gateway) Admission(role types.OID, pool *mem.Pool) *Admission {
	of := g.w.cfg.Resources.Of(role)
	return &Admission{role: role, group: of, slot: of.Slot(), ticket: pool.Ticket(uint32(role), of.Threads(g.w.cfg.Threads())), runs: map[*attempt]struct{}{}}
}

// enter takes the statement's slot, before a plan that is long. One that may skip queues skips this one too.
func (a *Admission) enter(ctx context.Context) error {
	a.mu.Lock()
	skip := a.entered || a.begun || a.past
	a.mu.Unlock()
	if skip {
		a.slot.Force()
	} else if err := a.slot.Wait(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.entered, a.resting = true, false
	a.mu.Unlock()
	return nil
}

// admitMode is how a run takes its ticket on a node.
type admitMode uint8

const (
	admitFree  admitMode = iota // no ticket needed
	admitTry                    // or be refused when the node is full
	admitWait                   // queue for one
	admitForce                  // skip the queue
)

// SkipQueue lets the statement's plans skip the queues.
func (a *Admission) SkipQueue() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.past = true
}

// mode returns how the next plan takes its tickets on the nodes that it needs.
func (a *Admission) mode(first admitMode) admitMode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun || a.past {
		return admitForce
	}
	return first
}

// here takes this node's ticket; it returns false if none is free and mode does not
// wait.
func (a *Admission) here(ctx context.Context, mode admitMode) (bool, error) {
	return take(ctx, a.ticket, mode)
}

func take(ctx context.Context, t *mem.Ticket, mode admitMode) (bool, error) {
	switch mode {
	case admitTry:
		return t.Try(), nil
	case admitWait:
		if err := t.Wait(ctx); err != nil {
			return false, err
		}
	case admitForce:
		t.Force()
	}
	return true, nil
}

// start records that a plan has all its tickets; at, if not nil, has those on other
// nodes. It ends a rest.
func (a *Admission) start(at *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun, a.resting = true, false
	if at != nil {
		a.runs[at] = struct{}{}
	}
}

// stop records that an attempt has ended, perhaps before it began: a statement that is
// to queue again must hold no tickets.
func (a *Admission) stop(at *attempt) {
	a.mu.Lock()
	delete(a.runs, at)
	begun := a.begun
	a.mu.Unlock()
	if !begun {
		a.ticket.Release()
	}
}

// queued records the statement's place in the queue of a node; 0 is none.
func (a *Admission) queued(node string, place int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node, a.place = node, place
}

// Rest returns the tickets while the statement waits for its client: the memory that it
// holds still counts, but what it might still allocate no longer keeps others waiting.
func (a *Admission) Rest() { a.rest(true) }

// Resume takes them again, skipping the queues.
func (a *Admission) Resume() { a.rest(false) }

func (a *Admission) rest(rest bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun && !a.entered || a.resting == rest {
		return
	}
	a.resting = rest
	switch {
	case rest:
		a.slot.Release()
		a.ticket.Release()
	default:
		if a.entered {
			a.slot.Force()
		}
		if a.begun {
			a.ticket.Force()
		}
	}
	for at := range a.runs {
		for _, b := range at.boxes {
			b.add(func(o *orders) { o.Rest, o.Resume = rest, !rest })
		}
	}
}

// Place returns the statement's place in the queue of a node, "" being this one; 0 if
// it does not wait.
func (a *Admission) Place() (node string, place int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.place > 0 {
		return a.node, a.place
	}
	return "", max(a.slot.Place(), a.ticket.Place())
}

// Close returns the tickets and the slot for good.
func (a *Admission) Close() {
	a.ticket.Close()
	a.slot.Close()
}
