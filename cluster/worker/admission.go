package worker

import (
	"context"
	"sync"

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
type Admission struct {
	role   types.OID
	ticket *mem.Ticket

	mu      sync.Mutex
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
	return &Admission{role: role, ticket: pool.Ticket(uint32(role), g.w.cfg.Threads()), runs: map[*attempt]struct{}{}}
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
	if !a.begun || a.resting == rest {
		return
	}
	a.resting = rest
	if rest {
		a.ticket.Release()
	} else {
		a.ticket.Force()
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
	return "", a.ticket.Place()
}

// Close returns the tickets for good.
func (a *Admission) Close() { a.ticket.Close() }
