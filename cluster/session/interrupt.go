package session

import (
	"context"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// interrupts end what a session runs: a cancel its statements of now, a termination
// the later ones too. Its methods may be called from any goroutine.
type interrupts struct {
	// timeout is what a statement that begins now may take, and transaction what is left of its
	// transaction; 0 for no limit.
	timeout, transaction func() time.Duration
	wake                 func() // called once killed has a reason; nil for nobody

	mu      sync.Mutex
	running map[*watch]struct{}
	killed  error // set once the session must end
}

// cancel ends what runs.
func (i *interrupts) cancel(cause error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for w := range i.running {
		w.cancel(cause)
	}
}

// terminate makes the running statement and every later one fail; the
// connection closes the session then.
func (i *interrupts) terminate(cause *pgerr.Error) {
	i.mu.Lock()
	if i.killed == nil {
		i.killed = cause.WithSeverity(pgerr.SevFatal)
	}
	for w := range i.running {
		w.cancel(i.killed)
	}
	i.mu.Unlock()
	if i.wake != nil {
		i.wake()
	}
}

// Killed reports whether the session must end, and why. From any goroutine.
func (i *interrupts) Killed() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.killed
}

// watch is a statement that cancel, terminate and statement_timeout reach.
// Statements nest: EXECUTE prepares, FETCH runs a cursor.
type watch struct {
	of     *interrupts
	cancel context.CancelCauseFunc
	timers []*time.Timer
}

// watch returns a statement's context: it ends by the caller's and by what the
// watch lets through. The watch must be ended.
func (i *interrupts) watch(ctx context.Context) (context.Context, *watch, error) {
	if err := i.Killed(); err != nil {
		return nil, nil, err
	}
	turn.Soon()
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{of: i, cancel: cancel}
	w.resume()
	return ctx, w, nil
}

// resume begins to watch.
func (w *watch) resume() {
	i := w.of
	if limit := i.timeout(); limit > 0 {
		w.timers = append(w.timers, time.AfterFunc(limit, func() {
			w.cancel(pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout"))
		}))
	}
	if left := i.transaction(); left > 0 {
		w.timers = append(w.timers, time.AfterFunc(left, func() { i.terminate(transactionTimeout()) }))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.killed != nil {
		w.cancel(i.killed)
	}
	if i.running == nil {
		i.running = map[*watch]struct{}{}
	}
	i.running[w] = struct{}{}
}

// suspend ceases to watch a statement that waits for its client.
func (w *watch) suspend() {
	for _, t := range w.timers {
		t.Stop()
	}
	w.timers = w.timers[:0]
	w.of.mu.Lock()
	delete(w.of.running, w)
	w.of.mu.Unlock()
}

// end frees the context.
func (w *watch) end() {
	w.suspend()
	w.cancel(nil)
}
