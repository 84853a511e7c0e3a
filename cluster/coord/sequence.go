package coord

import (
	"context"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// oidBlock hands out object identifiers from blocks reserved through Raft.
type oidBlock struct {
	mu   sync.Mutex
	next types.OID
	left int
}

const oidBlockSize = 256

// newOID gives a free object identifier.
func (e *Engine) newOID(ctx context.Context) (types.OID, error) {
	b := &e.oids
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		first, err := e.cfg.Meta.AllocOIDs(ctx, oidBlockSize)
		if err != nil {
			return 0, err
		}
		b.next, b.left = first, oidBlockSize
	}
	b.left--
	b.next++
	return b.next - 1, nil
}

// seqCache holds values taken from sequences through Raft but not given yet. A
// sequence's values are not part of any transaction.
type seqCache struct {
	mu     sync.Mutex
	blocks map[types.OID]*seqBlock
}

type seqBlock struct {
	next, step, left int64
}

// nextval fills out with the next values of a sequence, and tells how many there
// were before an error. What is not at hand is taken in one commit, with ahead
// values more, which the caller gives back where they are not used: else they
// would be a gap. Where the sequence's definition is of this very transaction,
// nobody else sees it, and its position is kept in the transaction's changes.
func (e *Engine) nextval(ctx context.Context, s *Session, oid types.OID, out []int64, ahead int64) (int, error) {
	committed := e.cfg.Meta.Current().RelationByOID(oid)
	if committed == nil {
		return s.localNextval(oid, out)
	}
	if committed.Kind != catalog.KindSequence {
		return 0, pgerr.New(pgerr.WrongObjectType, "%q is not a sequence", committed.Name)
	}
	c := &e.seqs
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks == nil {
		c.blocks = map[types.OID]*seqBlock{}
	}
	for i := range out {
		b := c.blocks[oid]
		if b == nil || b.left == 0 {
			n, cache := int64(len(out)-i)+ahead, max(committed.Seq.Cache, 1)
			if n += cache - 1; n < cache { // more than an int64 holds
				n = cache
			}
			r, err := e.cfg.Meta.Advance(ctx, oid, n/cache*cache) // as so many calls would take
			if err != nil {
				return i, err
			}
			b = &seqBlock{next: r.First, step: r.Step, left: r.Count}
			c.blocks[oid] = b
		}
		out[i] = b.next
		b.next += b.step
		b.left--
	}
	return len(out), nil
}

// giveBack returns the values of a sequence that are at hand, but for what is
// left of a whole cache. Where somebody took values since they are lost, as they
// are where the commit fails: a gap.
func (e *Engine) giveBack(ctx context.Context, oid types.OID) {
	c := &e.seqs
	c.mu.Lock()
	defer c.mu.Unlock()
	b, r := c.blocks[oid], e.cfg.Meta.Current().RelationByOID(oid)
	if b == nil || r == nil || r.Seq == nil {
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
	if err := e.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.ReturnSequence{OID: oid,
		At: catalog.SeqValue{Last: at, Called: true}, To: catalog.SeqValue{Last: at - back*b.step, Called: true}}}); err != nil {
		e.log.Debug("values of a sequence were not given back", "sequence", r.Name, "values", back, "err", err)
	}
}

// localNextval advances a sequence that only this transaction knows.
func (s *Session) localNextval(oid types.OID, out []int64) (int, error) {
	if s.tx == nil || s.tx.base == nil {
		return 0, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
	}
	s.seqMu.Lock()
	defer s.seqMu.Unlock()
	for i := 0; i < len(out); {
		st, err := s.tx.state()
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
		if _, err = s.tx.add(&catalog.SetSequence{OID: oid, Value: at}); err != nil {
			return i, err
		}
		for k := range got.Count {
			out[i] = got.First + k*got.Step
			i++
		}
	}
	return len(out), nil
}

// setval moves a sequence, outside of any transaction where it is committed.
func (e *Engine) setval(ctx context.Context, s *Session, oid types.OID, v catalog.SeqValue) error {
	if e.cfg.Meta.Current().RelationByOID(oid) == nil {
		if s.tx == nil {
			return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
		}
		s.seqMu.Lock()
		defer s.seqMu.Unlock()
		_, err := s.tx.add(&catalog.SetSequence{OID: oid, Value: v})
		return err
	}
	err := e.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.SetSequence{OID: oid, Value: v}})
	if err == nil || pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
		e.seqs.mu.Lock()
		delete(e.seqs.blocks, oid) // they are of before, or may be
		e.seqs.mu.Unlock()
	}
	return err
}
