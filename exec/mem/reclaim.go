package mem

import (
	"cmp"
	"slices"
)

// minReclaim is what an account must hold to be worth a file.
const minReclaim = 256 << 10

// OnReclaim says how the account's bytes are given back for another operator of the
// statement: by f, which writes away what its operator holds if that is at a safe
// point, and tells whether it did. It is called from any goroutine that asks for
// memory, so an operator has a lock for what f touches, which it holds while it works
// and not while it waits for its input; f must only try it. An error of f is the
// asker's.
func (a *Account) OnReclaim(f func() (bool, error)) { a.reclaim.Store(&f) }

// reclaim has others of the statement give way to a request of a, the largest first,
// until it takes more bytes. One that can spill itself does so rather than have a
// smaller one do it.
//
//	asker ── refused ─▶ holders, largest first ── lock tried ─▶ at a safe point: spills
//	                                                       └─▶ working: passed over
//
// Nobody waits for a lock, and so nobody for another that waits for him.
func (p *Pool) reclaim(a *Account, more int64) (bool, error) {
	if p.parent == nil {
		return false, nil // the node's own
	}
	type holder struct {
		*Account
		bytes int64
	}
	var holders []holder
	p.statement().walk(func(h *Account) {
		n := h.reserved.Load()
		if h != a && h.reclaim.Load() != nil && n >= minReclaim && (!a.spillable || n > a.reserved.Load()) {
			holders = append(holders, holder{h, n})
		}
	})
	slices.SortFunc(holders, func(x, y holder) int { return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.number, y.number)) })
	for _, h := range holders {
		did, err := (*h.reclaim.Load())()
		if err != nil {
			return false, err
		}
		if did && p.take(more) == nil {
			return true, nil
		}
	}
	return false, nil
}
