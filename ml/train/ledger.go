package train

import (
	"sync"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// ledger charges what a worker needs besides rows and blocks, which make room for it. Its
// methods may be called from any goroutine.
type ledger struct {
	pool   *mem.Pool // of the job on this node
	blocks *block.Blocks

	mu     sync.Mutex
	acct   *mem.Account
	inbox  *mem.Account // of what comes from other workers
	needed int64        // bytes charged for passes and partials
	closed bool
}

// renew releases everything but what came from other workers.
func (m *ledger) renew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acct != nil {
		m.acct.Close()
	}
	m.acct, m.needed = m.pool.Account("training partials", false), 0
}

func (m *ledger) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.inbox.Close()
	m.acct.Close()
}

// grow charges bytes for the family's state. A driver may outlive its worker, where
// the node closes.
func (m *ledger) grow(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		if n > 0 {
			return errEnded()
		}
		return nil
	}
	if n < 0 {
		m.acct.Shrink(-n)
		return nil
	}
	// State kept per row must leave memory for passes over the rows: a family that can do
	// without it gets an error.
	if used, limit := m.pool.Used(), m.pool.Limit(); float64(used+n) > mem.PauseShare*float64(limit) {
		if err := m.blocks.Evict(); err != nil {
			return err
		}
		if used = m.pool.Used(); float64(used+n) > mem.PauseShare*float64(limit) {
			return pgerr.New(pgerr.OutOfMemory, "out of memory: what a training keeps of its rows takes %d bytes more", n).
				WithDetail("%d of %d bytes are in use.", used, limit).WithHint("Raise --memory.")
		}
	}
	return m.charge(m.acct, n)
}

// charge charges bytes that stay in memory. Blocks can be read from disk.
func (m *ledger) charge(a *mem.Account, n int64) error {
	if a.Grow(n) == nil {
		return nil
	}
	if err := m.blocks.Evict(); err != nil {
		return err
	}
	return a.Grow(n)
}

// Hold charges bytes of messages between workers.
func (m *ledger) Hold(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errEnded()
	}
	return m.charge(m.inbox, n)
}

// Release releases what Hold charged.
func (m *ledger) Release(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.inbox.Shrink(n)
	}
}

// ChargeTransit charges rows in transit to or from other workers, few bytes at a time, without
// a check of the limit: they free memory at the sender or are charged at their
// destination. A negative number releases.
func (m *ledger) ChargeTransit(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
	case n < 0:
		m.inbox.Shrink(-n)
	default:
		m.inbox.Take(n)
	}
}

func errEnded() error {
	return pgerr.New(pgerr.ConnectionFailure, "a training has ended on this node")
}

// room charges for a step's passes over so many items, and returns for how many
// goroutines: fewer than most where memory is short. Each holds a pass and a
// partial. Where items have their own partials some wait for their neighbours, one on
// each level of the tree and one more for each goroutine; those from other workers are
// charged as they arrive.
func (m *ledger) room(pass, partial int64, items, most int, whole bool) (threads int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for threads = min(most, items); ; threads /= 2 {
		n := int64(threads) * (pass + partial)
		if !whole {
			n += int64(min(items-1, reduce.Height(items)+threads)) * partial
		}
		if n <= m.needed {
			m.acct.Shrink(m.needed - n) // an earlier step needed more
		} else if err := m.charge(m.acct, n-m.needed); err != nil {
			if threads > 1 && pgerr.Is(err, pgerr.OutOfMemory) {
				continue
			}
			return 0, err
		}
		m.needed = n
		return threads, nil
	}
}
