package vector

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Meter charges what the values of one program take to its statement, and asks
// now and then whether the statement is still wanted. Whatever grows with the
// length of a value comes through it: by arena, column, text or scratch. It is
// for one goroutine.
//
// A refusal unwinds the program: Charge and Poll panic with a halt, which Catch turns into the
// error of the call. So no kernel can forget to check.
//
//	kept    chunks of the arena, results by dictionary: as long as the program
//	held    kept and what this call made: until the next call, or End
//	row     of held, what one row's function needed: until the row is done
type Meter struct {
	Ctx    context.Context
	pool   *mem.Pool // the statement's; nil where there is none, and limit holds
	limit  int64
	acct   *mem.Account
	held   int64
	kept   int64
	row    int64
	Caller string // the function that charges
	work   int    // bytes processed since ctx was checked
	left   int    // where positive: bytes of work left before the program gives up
}

const (
	// meterFree is what a program takes without an account. Most need no more, and it is a batch in
	// flight, which the statement's ticket covers; charged twice it would leave little of a small pool
	// to operators that keep rows.
	meterFree = 1 << 20
	// ownLimit is for programs of no statement: settings, defaults.
	ownLimit = 64 << 20
	// PollBytes is how many bytes are processed between checks of the context; a row counts as
	// rowWork.
	PollBytes = 64 << 10
	RowWork   = 32
)

// halt unwinds a program.
type halt struct{ err error }

// Abort ends the program that runs with err, which Catch returns.
func Abort(err error) { panic(halt{err}) }

// Catch turns a halt into *err; it is deferred where programs are entered. rows is how many were
// computed at once: with more than one the error is a fewerRows.
func (m *Meter) Catch(rows int, err *error) {
	r := recover()
	if r == nil {
		return
	}
	h, ok := r.(halt)
	if !ok {
		panic(r)
	}
	*err = h.err
	if rows > 1 && pgerr.Is(h.err, pgerr.OutOfMemory) {
		*err = &fewerRows{h.err}
	}
}

// fewerRows is an error that computing fewer rows at once may avoid.
type fewerRows struct{ error }

func (e *fewerRows) Unwrap() []error { return []error{e.error, ErrBatchTooLarge} }

// NewMeter makes the meter of a program of a statement; without a pool it has
// little.
func NewMeter(pool *mem.Pool) Meter {
	if pool == nil {
		return Meter{limit: ownLimit}
	}
	return Meter{pool: pool}
}

// NewLimited makes a meter of a program that gives up: on more than bytes at once, and after work
// bytes were processed.
func NewLimited(bytes int64, work int) Meter { return Meter{limit: bytes, left: work} }

// Begin starts a call: what the last one charged is released.
func (m *Meter) Begin(ctx context.Context) {
	m.Ctx = ctx
	m.Release(m.held - m.kept)
	m.row = 0
}

// End releases what the last call charged, where no other follows soon.
func (m *Meter) End() { m.Begin(context.Background()) }

// Charge takes n bytes more, before they are allocated.
func (m *Meter) Charge(n int64) {
	if m == nil {
		return
	}
	want := m.held + n
	if m.limit > 0 && want > m.limit {
		panic(halt{pgerr.New(pgerr.OutOfMemory, "out of memory: %s asked for %d bytes", m.asks(), n).
			WithDetail("%d of %d bytes are in use.", m.held, m.limit)})
	}
	if more := owed(want) - owed(m.held); m.pool != nil && more > 0 {
		if m.acct == nil {
			m.acct = m.pool.LastingAccount("expression")
		}
		if err := m.acct.Grow(more); err != nil {
			var b *mem.BudgetError
			if errors.As(err, &b) && b.Account == m.acct {
				b.Operator = m.asks()
			}
			panic(halt{err})
		}
	}
	m.held = want
}

// owed returns how many of the bytes held are charged to the account.
func owed(held int64) int64 { return max(0, held-meterFree) }

func (m *Meter) asks() string {
	if m.Caller == "" {
		return "expression"
	}
	return "function " + m.Caller
}

// Release releases n bytes.
func (m *Meter) Release(n int64) {
	if m == nil || n == 0 {
		return
	}
	less := owed(m.held) - owed(m.held-n)
	m.held -= n
	if m.acct != nil {
		m.acct.Shrink(less)
	}
}

// Holds returns how many bytes are charged now.
func (m *Meter) Holds() int64 {
	if m == nil {
		return 0
	}
	return m.held
}

// Keep marks n of the bytes held as staying after the call; n may be negative.
func (m *Meter) Keep(n int64) {
	if m != nil {
		m.kept += n
	}
}

// Scratch charges n bytes that a function needs for the row at hand beside its
// result, or for a result that it makes itself.
func (m *Meter) Scratch(n int) {
	if m == nil {
		return
	}
	m.Charge(int64(n))
	m.row += int64(n)
}

// RowDone releases what was charged for the row at hand.
func (m *Meter) RowDone() {
	if m == nil {
		return
	}
	m.Poll(RowWork)
	if m.row > 0 {
		m.Release(m.row)
		m.row = 0
	}
}

// Poll counts n bytes of work, and unwinds where the statement has ended. A loop whose length
// depends on an argument must call it.
func (m *Meter) Poll(n int) {
	if m == nil {
		return
	}
	if m.work += n; m.work < PollBytes {
		return
	}
	if m.left > 0 {
		if m.left -= m.work; m.left <= 0 {
			panic(halt{pgerr.New(pgerr.ProgramLimitExceeded, "%s takes too long", m.asks())})
		}
	}
	m.work = 0
	if m.Ctx != nil {
		if err := m.Ctx.Err(); err != nil {
			panic(halt{err})
		}
	}
}

// Allocate, Reallocate and Free implement Arrow's Allocator, so that builders
// charge what they grow by.
func (m *Meter) Allocate(size int) []byte {
	m.Charge(int64(size))
	m.Poll(size)
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (m *Meter) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out := m.Allocate(size)
	copy(out, b)
	m.Free(b)
	return out
}

// Free implements memory.Allocator. What was allocated before this call was released with its own
// call.
func (m *Meter) Free(b []byte) { m.Release(min(int64(cap(b)), m.held-m.kept-m.row)) }
