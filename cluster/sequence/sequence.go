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

type block struct {
	next, step, left int64
	of               *catalog.Relation // ALTER SEQUENCE replaces it: then the block is stale
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks == nil {
		c.blocks = map[types.OID]*block{}
	}
	b := c.blocks[seq.OID]
	if b != nil && b.of != seq {
		b = nil
	}
	for i := 0; i < len(out); {
		if b == nil || b.left == 0 {
			n, cache := int64(len(out)-i)+ahead, max(seq.Seq.Cache, 1)
			if n += cache - 1; n < cache { // overflow
				n = cache
			}
			r, err := c.Catalog.Advance(ctx, seq.OID, n/cache*cache) // as many as separate calls would take
			if err != nil {
				return i, err
			}
			b = &block{next: r.First, step: r.Step, left: r.Count, of: seq}
			c.blocks[seq.OID] = b
		}
		n := min(int64(len(out)-i), b.left)
		for k := range n {
			out[i+int(k)] = b.next + k*b.step
		}
		b.next, b.left, i = b.next+n*b.step, b.left-n, i+int(n)
	}
	return len(out), nil
}

// GiveBack returns the cached values of a sequence, except the rest of a whole cache
// block. Where somebody has taken values since, or where the commit fails, they are
// lost: a gap.
func (c *Cache) GiveBack(ctx context.Context, oid types.OID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, r := c.blocks[oid], c.Catalog.Current().RelationByOID(oid)
	if b == nil || b.of != r {
		return
	}
	back := b.left - b.left%max(r.Seq.Cache, 1)
	if back == 0 {
		return
	}
	at := b.next + (b.left-1)*b.step
	b.left -= back
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := c.Catalog.Commit(ctx, []catalog.Change{&catalog.ReturnSequence{OID: oid,
		At: catalog.SeqValue{Last: at, Called: true}, To: catalog.SeqValue{Last: at - back*b.step, Called: true}}}); err != nil {
		c.Log.Debug("values of a sequence were not given back", "sequence", r.Name, "values", back, "err", err)
	}
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
		c.mu.Lock()
		delete(c.blocks, oid) // they may precede the change
		c.mu.Unlock()
	}
	return err
}
