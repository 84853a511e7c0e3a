package advisory

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Key names a lock.
type Key = function.AdvisoryKey

// Owner names a session in a Table: one of a life of a gateway. The gateway's locks end
// with the life, all at once.
type Owner struct {
	Gateway, Life, Session uint64
}

// PID returns the key of the session at its gateway.
func (o Owner) PID() uint32 { return uint32(o.Session) }

// OpKind says what an Op does.
type OpKind uint8

const (
	Take    OpKind = iota + 1 // gives the owner the lock, or puts it into the queue if Wait is set
	Leave                     // takes the owner out of the queue in which it waits
	Give                      // takes the owner's hold on the lock away
	End                       // does Leave, and Give for all that the owner has
	Check                     // is refused where the owner's life is over; the whole command is then
	EndLife                   // ends a life of a gateway
)

// Op is an operation on a Table. Each but Take has the same effect when it is repeated; so
// has Take until the owner gives the lock away.
type Op struct {
	Kind   OpKind
	Owner  Owner
	Key    Key
	Shared bool
	Wait   bool
}

// Result is the result of a list of operations: that of the last Take or Leave.
type Result struct {
	Held    bool // the owner has the lock
	Waiting bool // the owner is in the queue
}

// Table says who holds which lock and who waits for it, in order of arrival. It is a
// pure state machine: the same operations make the same table. It is not safe for
// concurrent use.
type Table struct {
	lives map[uint64]uint64 // by gateway
	locks map[Key]*lock
	waits map[Owner]Key // an owner waits for one lock at most
	size  int           // holds and requests
}

type lock struct {
	held  []hold
	queue []request // in order of arrival
}

// hold says in which modes an owner has a lock: a session may have both.
type hold struct {
	Owner             Owner
	Exclusive, Shared bool
}

type request struct {
	Owner  Owner
	Shared bool
}

// maxTable bounds a Table, as max_locks_per_transaction bounds PostgreSQL's.
const maxTable = 1 << 17

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{lives: map[uint64]uint64{}, locks: map[Key]*lock{}, waits: map[Owner]Key{}}
}

// Life returns the life of a gateway of which owners must be.
func (t *Table) Life(gateway uint64) uint64 { return t.lives[gateway] }

// errOver is the error of an operation of an owner whose life is over.
func errOver() error {
	return pgerr.New(pgerr.AdminShutdown, "the session's advisory locks were given up, as its node had lost contact with the cluster")
}

// Check returns an error where the operations must not be applied.
func (t *Table) Check(ops []Op) error {
	for _, o := range ops {
		if (o.Kind == Check || o.Kind == Take) && o.Owner.Life != t.lives[o.Owner.Gateway] {
			return errOver()
		}
		if o.Kind == Take && t.size >= maxTable {
			return pgerr.New(pgerr.OutOfMemory, "out of shared memory").WithDetail("There are %d advisory locks.", t.size)
		}
	}
	return nil
}

// Apply applies operations that Check allows. Its error is a deadlock: the Take is then
// left out.
func (t *Table) Apply(ops []Op) (r Result, err error) {
	for _, o := range ops {
		switch o.Kind {
		case Take:
			if r, err = t.take(o); err != nil {
				return r, err
			}
		case Leave:
			t.leave(o.Owner)
			r = Result{Held: t.has(o.Owner, o.Key, o.Shared)}
		case Give:
			t.give(o.Owner, o.Key, o.Shared, !o.Shared)
		case End:
			t.end(func(x Owner) bool { return x == o.Owner })
		case EndLife:
			if t.lives[o.Owner.Gateway] == o.Owner.Life {
				t.EndLife(o.Owner.Gateway)
			}
		}
	}
	return r, nil
}

// EndLife ends the life of a gateway, and with it its locks.
func (t *Table) EndLife(gateway uint64) {
	t.end(func(x Owner) bool { return x.Gateway == gateway })
	t.lives[gateway]++
}

func (t *Table) take(o Op) (Result, error) {
	if t.has(o.Owner, o.Key, o.Shared) {
		return Result{Held: true}, nil
	}
	if key, waits := t.waits[o.Owner]; waits {
		if key == o.Key && o.Wait {
			return Result{Waiting: true}, nil
		}
		return Result{}, pgerr.Internal("a session waits for two advisory locks")
	}
	l := t.locks[o.Key]
	if l == nil {
		l = &lock{}
		t.locks[o.Key] = l
	}
	if l.free(o.Owner, o.Shared, l.queue) {
		t.grant(l, o.Owner, o.Shared)
		return Result{Held: true}, nil
	}
	if !o.Wait {
		return Result{}, nil
	}
	l.queue = append(l.queue, request{o.Owner, o.Shared})
	t.waits[o.Owner] = o.Key
	t.size++
	if t.circular(o.Owner) {
		t.leave(o.Owner)
		return Result{}, pgerr.New(pgerr.DeadlockDetected, "deadlock detected").
			WithDetail("The session waits for an advisory lock of a session that waits for one of its own.")
	}
	return Result{Waiting: true}, nil
}

func (t *Table) has(o Owner, key Key, shared bool) bool {
	l := t.locks[key]
	if l == nil {
		return false
	}
	i := l.of(o)
	return i >= 0 && (shared && l.held[i].Shared || !shared && l.held[i].Exclusive)
}

// of returns the place of an owner's hold, -1 for none.
func (l *lock) of(o Owner) int {
	return slices.IndexFunc(l.held, func(h hold) bool { return h.Owner == o })
}

// free reports whether an owner may have the lock now; before is the part of the queue
// ahead of it.
func (l *lock) free(o Owner, shared bool, before []request) bool {
	for _, h := range l.held {
		if h.Owner != o && (!shared || h.Exclusive) {
			return false
		}
	}
	if l.of(o) >= 0 {
		return true // it holds the lock: those in the queue wait for it too
	}
	return !slices.ContainsFunc(before, func(w request) bool { return !shared || !w.Shared })
}

func (t *Table) grant(l *lock, o Owner, shared bool) {
	i := l.of(o)
	if i < 0 {
		i = len(l.held)
		l.held = append(l.held, hold{Owner: o})
		t.size++
	}
	if shared {
		l.held[i].Shared = true
	} else {
		l.held[i].Exclusive = true
	}
}

// leave removes the request of an owner from its lock's queue.
func (t *Table) leave(o Owner) {
	key, waits := t.waits[o]
	if !waits {
		return
	}
	l := t.locks[key]
	l.queue = slices.DeleteFunc(l.queue, func(w request) bool { return w.Owner == o })
	delete(t.waits, o)
	t.size--
	t.pass(key)
}

// give takes modes of an owner's hold away.
func (t *Table) give(o Owner, key Key, shared, exclusive bool) {
	l := t.locks[key]
	if l == nil {
		return
	}
	i := l.of(o)
	if i < 0 {
		return
	}
	h := &l.held[i]
	h.Shared, h.Exclusive = h.Shared && !shared, h.Exclusive && !exclusive
	if !h.Shared && !h.Exclusive {
		l.held = slices.Delete(l.held, i, i+1)
		t.size--
	}
	t.pass(key)
}

// end takes away all that some owners hold and wait for.
func (t *Table) end(of func(Owner) bool) {
	var keys []Key
	for key, l := range t.locks {
		had := len(l.held) + len(l.queue)
		l.held = slices.DeleteFunc(l.held, func(h hold) bool { return of(h.Owner) })
		l.queue = slices.DeleteFunc(l.queue, func(w request) bool {
			if of(w.Owner) {
				delete(t.waits, w.Owner)
				return true
			}
			return false
		})
		if now := len(l.held) + len(l.queue); now != had {
			t.size -= had - now
			keys = append(keys, key)
		}
	}
	for _, key := range keys { // what becomes of one lock does not depend on others
		t.pass(key)
	}
}

// pass gives a lock to those in its queue that may have it, and removes a lock that
// nobody holds or waits for.
func (t *Table) pass(key Key) {
	l := t.locks[key]
	for i := 0; i < len(l.queue); {
		w := l.queue[i]
		if !l.free(w.Owner, w.Shared, l.queue[:i]) {
			i++
			continue
		}
		l.queue = slices.Delete(l.queue, i, i+1)
		delete(t.waits, w.Owner)
		t.size--
		t.grant(l, w.Owner, w.Shared)
	}
	if len(l.held) == 0 && len(l.queue) == 0 {
		delete(t.locks, key)
	}
}

// circular reports whether an owner waits, through others, for itself: a deadlock.
func (t *Table) circular(of Owner) bool {
	seen := map[Owner]bool{}
	var waitsFor func(x Owner) bool
	waitsFor = func(x Owner) bool {
		key, waits := t.waits[x]
		if !waits || seen[x] {
			return false
		}
		seen[x] = true
		l := t.locks[key]
		at := slices.IndexFunc(l.queue, func(w request) bool { return w.Owner == x })
		shared := l.queue[at].Shared
		for _, h := range l.held {
			if h.Owner != x && (!shared || h.Exclusive) && (h.Owner == of || waitsFor(h.Owner)) {
				return true
			}
		}
		for _, w := range l.queue[:at] {
			if (!w.Shared || !shared) && (w.Owner == of || waitsFor(w.Owner)) {
				return true
			}
		}
		return false
	}
	return waitsFor(of)
}

// State returns whether an owner has a lock, or waits for one.
func (t *Table) State(o Owner, key Key, shared bool) Result {
	waits, ok := t.waits[o]
	return Result{Held: t.has(o, key, shared), Waiting: ok && waits == key}
}

// Gateways returns the gateways whose sessions hold or wait for locks, in order.
func (t *Table) Gateways() (out []uint64) {
	seen := map[uint64]bool{}
	for _, l := range t.locks {
		for _, h := range l.held {
			seen[h.Owner.Gateway] = true
		}
		for _, w := range l.queue {
			seen[w.Owner.Gateway] = true
		}
	}
	for g := range seen {
		out = append(out, g)
	}
	slices.Sort(out)
	return out
}

// Row is a hold or a request of a Table.
type Row struct {
	Key     Key
	Owner   Owner
	Shared  bool
	Granted bool
}

// Rows returns all holds and requests, by key, holds first, requests in their order.
func (t *Table) Rows() (out []Row) {
	for _, x := range t.Image().Locks {
		for _, h := range x.Held {
			if h.Exclusive {
				out = append(out, Row{x.Key, h.Owner, false, true})
			}
			if h.Shared {
				out = append(out, Row{x.Key, h.Owner, true, true})
			}
		}
		for _, w := range x.Queue {
			out = append(out, Row{x.Key, w.Owner, w.Shared, false})
		}
	}
	return out
}

// Image is a Table as snapshots have it: equal tables have equal images.
type Image struct {
	Lives []ImageLife // by gateway
	Locks []ImageLock // by key
}

// ImageLife is the life of a gateway.
type ImageLife struct{ Gateway, Life uint64 }

// ImageLock is a lock.
type ImageLock struct {
	Key   Key
	Held  []hold
	Queue []request
}

// Image copies the table.
func (t *Table) Image() (im Image) {
	for g, l := range t.lives {
		im.Lives = append(im.Lives, ImageLife{g, l})
	}
	slices.SortFunc(im.Lives, func(a, b ImageLife) int { return cmp.Compare(a.Gateway, b.Gateway) })
	for key, l := range t.locks {
		im.Locks = append(im.Locks, ImageLock{key, slices.Clone(l.held), slices.Clone(l.queue)})
	}
	slices.SortFunc(im.Locks, func(a, b ImageLock) int {
		two := func(k Key) int {
			if k.Two {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.Key.Table, b.Key.Table), cmp.Compare(two(a.Key), two(b.Key)), cmp.Compare(a.Key.A, b.Key.A), cmp.Compare(a.Key.B, b.Key.B))
	})
	return im
}

// Table returns the table of an image.
func (im Image) Table() *Table {
	t := NewTable()
	for _, l := range im.Lives {
		t.lives[l.Gateway] = l.Life
	}
	for _, x := range im.Locks {
		t.locks[x.Key] = &lock{held: x.Held, queue: x.Queue}
		t.size += len(x.Held) + len(x.Queue)
		for _, w := range x.Queue {
			t.waits[w.Owner] = x.Key
		}
	}
	return t
}
