package sequence

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Catalog is the replicated catalog. Its methods may be called from any goroutine.
type Catalog interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Commit proposes changes as one and waits until they are applied here. 40003 says
	// that their outcome is unknown; any other error, that nothing was applied nor will
	// be.
	Commit(ctx context.Context, changes []catalog.Change) error
	// Advance takes up to n values off a sequence, at least one.
	Advance(ctx context.Context, sequence types.OID, n int64) (catalog.SeqRange, error)
}

// Cache holds values that a node has taken from sequences but not handed out yet. Its
// methods may be called from any goroutine.
type Cache struct {
	Catalog Catalog
	Log     *slog.Logger

	mu     sync.Mutex
	blocks map[types.OID]*block
}

// block is what the node has of a sequence.
type block struct {
	mu               sync.Mutex        // held while values are taken off the sequence
	of               *catalog.Relation // ALTER SEQUENCE replaces it: then the values are stale
	next, step, left int64
	// alone counts how often in a row a single value was taken off the sequence with nobody else taking any in
	// between. After that many the node takes more ahead, twice as many each time; keep is how many of them stay
	// for other statements.
	alone int
	keep  int64
}

// aloneBefore is how many values the node takes off a sequence one by one before it takes some ahead, mostKept how
// many it then has at most. A crash loses those, as PostgreSQL's loses the 32 that it logs ahead.
const (
	aloneBefore = 8
	mostKept    = 32
)

// end is the value that the node took off the sequence last.
func (b *block) end() int64 { return b.next + (b.left-1)*b.step }

// block returns what the node has of a sequence.
func (c *Cache) block(oid types.OID) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks == nil {
		c.blocks = map[types.OID]*block{}
	}
	b := c.blocks[oid]
	if b == nil {
		b = &block{}
		c.blocks[oid] = b
	}
	return b
}

// Next fills out with the next values of a sequence for a session in a transaction, and
// returns how many there were before an error. Missing values are taken in one commit,
// along with ahead more values, which the caller returns (GiveBack) where they are not
// used: else they would be a gap. Where the transaction created or restarted the
// sequence, its position is one of the transaction's changes: others take values of the
// old one until the commit.
func (c *Cache) Next(ctx context.Context, s *Session, t *txn.Txn, oid types.OID, out []int64, ahead int64) (n int, err error) {
	if committed := c.Catalog.Current().RelationByOID(oid); committed == nil || t != nil && t.Restarted(oid) {
		n, err = s.nextOwn(t, oid, out)
	} else {
		n, err = c.next(ctx, committed, out, ahead)
	}
	if n > 0 {
		s.took(oid, out[n-1])
	}
	return n, err
}

func (c *Cache) next(ctx context.Context, seq *catalog.Relation, out []int64, ahead int64) (int, error) {
	if seq.Kind != catalog.KindSequence {
		return 0, pgerr.New(pgerr.WrongObjectType, "%q is not a sequence", seq.Name)
	}
	b := c.block(seq.OID)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of != seq {
		b.of, b.left, b.alone, b.keep = seq, 0, 0, 0
	}
	for i := 0; i < len(out); {
		if b.left == 0 {
			n, cache := int64(len(out)-i)+ahead, max(seq.Seq.Cache, 1)
			if n == 1 && c.Catalog.Current().SequenceAt(seq.OID).Last == b.end() {
				b.alone++
			} else {
				b.alone = 0
			}
			b.keep = 0
			if more := b.alone - aloneBefore; more > 0 && cache < mostKept {
				b.keep = min(int64(1)<<min(more, 16), mostKept) / cache * cache
				n += b.keep
			}
			if n += cache - 1; n < cache { // overflow
				n = cache
			}
			r, err := c.Catalog.Advance(ctx, seq.OID, n/cache*cache) // as many as separate calls would take
			if err != nil {
				return i, err
			}
			b.next, b.step, b.left = r.First, r.Step, r.Count
		}
		n := min(int64(len(out)-i), b.left)
		for k := range n {
			out[i+int(k)] = b.next + k*b.step
		}
		b.next, b.left, i = b.next+n*b.step, b.left-n, i+int(n)
	}
	return len(out), nil
}

// GiveBack returns what a statement left of values that it took ahead, except the rest of a whole cache
// block and what the node keeps for other statements. Where somebody has taken values since, or where the
// commit fails, they are lost: a gap.
func (c *Cache) GiveBack(ctx context.Context, oid types.OID) {
	b := c.block(oid)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left > b.keep {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		c.giveBack(ctx, oid, b)
	}
}

// patience is how long an end of a statement or of a session waits for values to be returned.
const patience = time.Second

// Release returns what the node has of the sequences of a session that ends.
func (c *Cache) Release(ctx context.Context, s *Session) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, oid := range s.sequences() {
		b := c.block(oid)
		b.mu.Lock()
		if b.keep > 0 {
			c.giveBack(ctx, oid, b)
		}
		b.mu.Unlock()
	}
}

// giveBack returns the values of a block, whose lock is held.
func (c *Cache) giveBack(ctx context.Context, oid types.OID, b *block) {
	r := c.Catalog.Current().RelationByOID(oid)
	b.alone, b.keep = 0, 0
	if r == nil || b.of != r {
		return
	}
	back := b.left - b.left%max(r.Seq.Cache, 1)
	if back == 0 {
		return
	}
	at := b.end()
	b.left -= back
	if err := c.Catalog.Commit(ctx, []catalog.Change{&catalog.ReturnSequence{OID: oid,
		At: catalog.SeqValue{Last: at, Called: true}, To: catalog.SeqValue{Last: at - back*b.step, Called: true}}}); err != nil {
		c.Log.Debug("values of a sequence were not given back", "sequence", r.Name, "values", back, "err", err)
	}
}

// At returns the position of a sequence in a state, without what this node has taken ahead of it.
func (c *Cache) At(st *catalog.State, oid types.OID) catalog.SeqValue {
	at := st.SequenceAt(oid)
	c.mu.Lock()
	b := c.blocks[oid]
	c.mu.Unlock()
	if b == nil {
		return at
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keep > 0 && b.left > 0 && b.of == st.RelationByOID(oid) && at.Last == b.end() {
		at.Last = b.next - b.step
	}
	return at
}

// nextOwn advances a sequence whose position only this transaction sees.
func (s *Session) nextOwn(t *txn.Txn, oid types.OID, out []int64) (int, error) {
	if t == nil || !t.Begun() {
		return 0, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
	}
	s.own.Lock()
	defer s.own.Unlock()
	for i := 0; i < len(out); {
		st, err := t.State()
		if err != nil {
			return i, err
		}
		r := st.RelationByOID(oid)
		if r == nil || r.Kind != catalog.KindSequence {
			return i, pgerr.New(pgerr.UndefinedTable, "relation with OID %d is not a sequence", oid)
		}
		got, at, err := r.Seq.Take(r.Name, st.SequenceAt(oid), int64(len(out)-i))
		if err != nil {
			return i, err
		}
		if _, err = t.Add(&catalog.SetSequence{OID: oid, Value: at}); err != nil {
			return i, err
		}
		for k := range got.Count {
			out[i] = got.First + k*got.Step
			i++
		}
	}
	return len(out), nil
}

// Set sets the position of a sequence. It is not transactional, except for a sequence
// that the transaction itself created or restarted.
func (c *Cache) Set(ctx context.Context, s *Session, t *txn.Txn, oid types.OID, v catalog.SeqValue) error {
	if err := c.set(ctx, s, t, oid, v); err != nil {
		return err
	}
	if v.Called {
		s.took(oid, v.Last)
	}
	return nil
}

func (c *Cache) set(ctx context.Context, s *Session, t *txn.Txn, oid types.OID, v catalog.SeqValue) error {
	if c.Catalog.Current().RelationByOID(oid) == nil || t != nil && t.Restarted(oid) {
		if t == nil {
			return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
		}
		s.own.Lock()
		defer s.own.Unlock()
		_, err := t.Add(&catalog.SetSequence{OID: oid, Value: v})
		return err
	}
	err := c.Catalog.Commit(ctx, []catalog.Change{&catalog.SetSequence{OID: oid, Value: v}})
	if err == nil || pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
		b := c.block(oid)
		b.mu.Lock()
		b.left, b.alone, b.keep = 0, 0, 0 // its values may precede the change
		b.mu.Unlock()
	}
	return err
}
