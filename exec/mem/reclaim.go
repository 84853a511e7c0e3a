package mem

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// minReclaim is the least an account must have reserved to be spilled for others: less is not worth a
// file.
const minReclaim = 256 << 10

// ErrBusy is returned by an operator that is processing a batch; a moment later it may be able to
// spill.
var ErrBusy = errors.New("mem: the holder is at work")

// OnReclaim sets how the account's bytes are released for another operator of the statement: f
// spills what its operator holds if that is at a safe point, and reports whether it did. It is
// called from any goroutine that asks for memory, so an operator has a lock for what f touches,
// which it holds while it works and not while it waits for its input; f must only try it, and
// returns ErrBusy where another has it. Any other error of f is returned to the request.
func (a *Account) OnReclaim(f func() (bool, error)) { a.reclaim.Store(&f) }

// OnFlush is OnReclaim for rows that must be written sooner or later anyway and are not read back,
// such as a segment writer's. Writing them early costs little, so a request that insists makes them be
// written however few they are, and even if the requesting operator could spill itself: the writers of
// many partitions have little memory each, but much together.
func (a *Account) OnFlush(f func() (bool, error)) {
	a.flushes.Store(true)
	a.OnReclaim(f)
}

// reclaim makes other operators of the statement spill for a request of a, those with the most memory
// first, until `more` bytes are free. If a can spill itself, only accounts with more memory than a has
// are spilled for it.
//
//	asker ── refused ─▶ holders, largest first ── lock tried ─▶ at a safe point: spills
//	                                                       └─▶ at work: passed over
//
// It never waits for an operator's lock: two operators that request memory while they work would
// deadlock. With insist, operators at work are tried repeatedly for up to spillWait, since each
// finishes its batch soon.
func (p *Pool) reclaim(ctx context.Context, a *Account, more int64, insist bool) (bool, error) {
	if p.parent == nil {
		return false, nil // the node's own memory belongs to no statement
	}
	until := time.Time{}
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		freed := p.root().freeing()
		did, busy, err := p.reclaimOnce(a, more, insist)
		if did || err != nil {
			return did, err
		}
		if p.take(more) == nil {
			return true, nil // other memory was released meanwhile
		}
		if !busy || !insist || p.doomed() != nil {
			return false, nil
		}
		now := time.Now()
		if until.IsZero() {
			until = now.Add(spillWait)
		} else if now.After(until) {
			return false, nil
		}
		select {
		case <-freed:
		case <-time.After(pause):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// reclaimOnce asks each holder once; busy reports whether to ask once more: one was at work, or gave
// way and another operator took the memory.
func (p *Pool) reclaimOnce(a *Account, more int64, insist bool) (did, busy bool, err error) {
	type holder struct {
		*Account
		bytes int64
	}
	var holders []holder
	p.statement().walk(func(h *Account) {
		n := h.reserved.Load()
		if h != a && h.reclaim.Load() != nil && (insist && n > 0 && h.flushes.Load() || n >= minReclaim && (!a.spillable || n > a.reserved.Load())) {
			holders = append(holders, holder{h, n})
		}
	})
	slices.SortFunc(holders, func(x, y holder) int { return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.number, y.number)) })
	for _, h := range holders {
		did, err := (*h.reclaim.Load())()
		if errors.Is(err, ErrBusy) {
			busy = true
			continue
		}
		if err != nil {
			return false, busy, err
		}
		if did && p.take(more) == nil {
			return true, busy, nil
		}
		busy = busy || did // another was quicker to take what was released: ask again
	}
	return false, busy, nil
}

// ReclaimAll asks each holder of the statement to release what it holds, however little that is, and returns
// how many did. It is for tests of operators at every point at which others may need their memory.
func (p *Pool) ReclaimAll() (n int, err error) {
	var holders []*Account
	p.statement().walk(func(h *Account) {
		if h.reclaim.Load() != nil {
			holders = append(holders, h)
		}
	})
	slices.SortFunc(holders, func(x, y *Account) int { return cmp.Compare(x.number, y.number) })
	for _, h := range holders {
		did, err := (*h.reclaim.Load())()
		if err != nil && !errors.Is(err, ErrBusy) {
			return n, err
		}
		if did {
			n++
		}
	}
	return n, nil
}
