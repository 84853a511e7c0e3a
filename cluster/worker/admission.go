package worker

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// Admission is a statement's leave to keep rows: a ticket of exec/mem on each
// node where a plan of it runs, while the plan does, and on the gateway until
// the statement ends.
//
// A plan on several nodes asks all of them at once, without waiting. If one
// refuses, all that were given are given back, and the plan waits for them node
// by node in the order of their ids: whoever waits for a node holds none beyond
// it, so that two statements never wait for each other.
//
// A statement that has begun does not queue again, nor does one whose session
// has another one open: they hold what others may wait for.
type Admission struct {
	role   types.OID
	ticket *mem.Ticket

	mu      sync.Mutex
	begun   bool
	past    bool // the session has another statement open
	resting bool
	runs    map[*attempt]struct{} // with parts on other nodes
	node    string                // where it waits, if not here
	place   int                   // there
}

// Admission makes the admission of a statement of a role, with the statement's
// pool. Close it before the pool.
func (g *Gateway) Admission(role types.OID, pool *mem.Pool) *Admission {
	return &Admission{role: role, ticket: pool.Ticket(uint32(role), g.w.cfg.Threads()), runs: map[*attempt]struct{}{}}
}

// admitMode is how a run takes its ticket on a node.
type admitMode uint8

const (
	admitFree  admitMode = iota // it needs none
	admitTry                    // or is told that the node is full
	admitWait                   // in its turn
	admitForce                  // past all others
)

// Pass lets the statement's plans past those that queue.
func (a *Admission) Pass() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.past = true
}

// mode is how the next plan takes its tickets on the nodes that it needs.
func (a *Admission) mode(first admitMode) admitMode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun || a.past {
		return admitForce
	}
	return first
}

// here takes this node's ticket; false if it is not to be had at once and mode
// does not wait.
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

// start notes that a plan has all its tickets, at for those on other nodes: one of a statement that
// rested does not.
func (a *Admission) start(at *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun, a.resting = true, false
	if at != nil {
		a.runs[at] = struct{}{}
	}
}

// stop notes that an attempt has ended, perhaps before it began: a statement
// that is to queue again holds nothing.
func (a *Admission) stop(at *attempt) {
	a.mu.Lock()
	delete(a.runs, at)
	begun := a.begun
	a.mu.Unlock()
	if !begun {
		a.ticket.Release()
	}
}

// queued notes the place at a node that the statement waits for; 0 is none.
func (a *Admission) queued(node string, place int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node, a.place = node, place
}

// Rest gives the tickets back while the statement waits for its client: what it
// holds stays in the way of others, what it might still need does not.
func (a *Admission) Rest() { a.rest(true) }

// Resume takes them again, past all others.
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

// Place is the statement's place in the queue of a node, "" being this one; 0
// if it does not wait.
func (a *Admission) Place() (node string, place int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.place > 0 {
		return a.node, a.place
	}
	return "", a.ticket.Place()
}

// Close gives the tickets back for good.
func (a *Admission) Close() { a.ticket.Close() }
