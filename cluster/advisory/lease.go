package advisory

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// A node has its locks in the replicated table as long as its life there lasts. Others
// get them when the leader ends the life, Expiry after it last heard a renewal, or began
// to lead, or first saw the node's locks. The node ends the sessions that have locks
// when lease has passed since the beginning of the last renewal that was confirmed.
// Confirmed means that the leader which heard it was the leader still: so whoever leads
// next began after it, and each of the leader's times is later than the node's. Where
// clocks run at about the same rate, the sessions have ended when others get the locks. A
// node that stood still meanwhile cannot know; what its sessions then commit carries a
// Check, and is refused.

// Lease and Expiry are so many times how long a node may be silent before it counts as
// dead.
const (
	Lease  = 2
	Expiry = 3
)

// enter notes that a session is about to take a lock.
func (l *Locks) enter(ctx context.Context, h *Holder) error {
	if l.ctx.Err() != nil {
		return pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command")
	}
	if err := l.endLapsed(ctx); err != nil {
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	common := l.common()
	l.holders.Lock()
	l.active[h] = struct{}{}
	l.holders.Unlock()
	if common {
		l.keep()
	}
	return nil
}

// endLapsed ends the life whose lease could not be renewed, before another lock is taken.
func (l *Locks) endLapsed(ctx context.Context) error {
	l.ending.Lock()
	defer l.ending.Unlock()
	l.holders.Lock()
	lapsed := l.lapsed
	l.holders.Unlock()
	if !lapsed {
		return nil
	}
	if _, err := l.do(ctx, []Op{{Kind: EndLife, Owner: Owner{Gateway: l.cluster.ID(), Life: l.life()}}}); err != nil {
		return err
	}
	l.holders.Lock()
	defer l.holders.Unlock()
	l.lapsed = false
	return nil
}

// settle notes whether a session has locks.
func (l *Locks) settle(h *Holder, has bool) {
	l.holders.Lock()
	defer l.holders.Unlock()
	if !has {
		delete(l.active, h)
	}
}

// keep renews the lease from now on, while sessions have locks.
func (l *Locks) keep() {
	l.holders.Lock()
	defer l.holders.Unlock()
	if l.keeping || len(l.active) == 0 || l.ctx.Err() != nil {
		return
	}
	l.keeping, l.renewed = true, time.Now()
	l.wg.Go(l.renew)
}

// renew renews the lease until no session has locks, or ends those that have.
func (l *Locks) renew() {
	tick := time.NewTicker(l.lease / 8)
	defer tick.Stop()
	for {
		l.holders.Lock()
		left := l.lease - time.Since(l.renewed)
		if len(l.active) == 0 || l.ctx.Err() != nil || left <= 0 {
			l.keeping = false
			var lost []*Holder
			if left <= 0 {
				l.lapsed = len(l.active) > 0
				for h := range l.active {
					lost = append(lost, h)
				}
				clear(l.active)
			}
			l.holders.Unlock()
			for _, h := range lost { // in any order: each is a session of its own
				h.end(errOver().(*pgerr.Error))
			}
			return
		}
		l.holders.Unlock()
		began := time.Now()
		ctx, cancel := context.WithTimeout(l.ctx, min(left, l.lease/4))
		if l.cluster.Renew(ctx) == nil {
			l.holders.Lock()
			l.renewed = began
			l.holders.Unlock()
			l.payDebts(ctx)
		}
		cancel()
		select {
		case <-tick.C:
		case <-l.ctx.Done():
		}
	}
}

// payDebts applies what sessions, which may have ended, owe.
func (l *Locks) payDebts(ctx context.Context) {
	l.holders.Lock()
	var all []*Holder
	for h := range l.active {
		all = append(all, h)
	}
	l.holders.Unlock()
	for _, h := range all {
		if !h.mu.TryLock() {
			continue // it does so itself
		}
		if len(h.owed) > 0 {
			_, _ = h.do(ctx)
			l.settle(h, len(h.holds)+len(h.owed) > 0)
		}
		h.mu.Unlock()
	}
}
