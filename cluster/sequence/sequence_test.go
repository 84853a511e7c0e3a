package sequence

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

const seq types.OID = 20001

// replicated is the catalog of a cluster of one node; it counts commits.
type replicated struct {
	st       *catalog.State
	advances int
	returns  int
}

func (r *replicated) Current() *catalog.State       { return r.st }
func (r *replicated) Barrier(context.Context) error { return nil }

func (r *replicated) Commit(_ context.Context, changes []catalog.Change) error {
	for _, c := range changes {
		if _, ok := c.(*catalog.ReturnSequence); ok {
			r.returns++
		}
	}
	st, _, err := r.st.Commit(r.st.Version()+1, changes)
	if err == nil {
		r.st = st
	}
	return err
}

func (r *replicated) Advance(_ context.Context, oid types.OID, n int64) (catalog.SeqRange, error) {
	r.advances++
	st, out, err := r.st.Commit(r.st.Version()+1, []catalog.Change{&catalog.AdvanceSequence{OID: oid, N: n}})
	if err != nil {
		return catalog.SeqRange{}, err
	}
	r.st = st
	return out.Sequences[0], nil
}

func define(cache, top int64) catalog.Change {
	return &catalog.PutRelation{Rel: &catalog.Relation{OID: seq, Schema: 2200, Name: "s", Kind: catalog.KindSequence, Owner: catalog.BootstrapRoleOID,
		Seq: &catalog.Sequence{Type: types.Int8, Start: 1, Increment: 1, Min: 1, Max: top, Cache: cache}}}
}

func made(t *testing.T, cache, top int64) (*replicated, *Cache) {
	t.Helper()
	r := &replicated{st: catalog.New()}
	if err := r.Commit(context.Background(), []catalog.Change{define(cache, top), &catalog.SetSequence{OID: seq, Value: catalog.SeqValue{Last: 1}}}); err != nil {
		t.Fatal(err)
	}
	return r, &Cache{Catalog: r, Log: slog.New(slog.DiscardHandler)}
}

func next(t *testing.T, c *Cache, s *Session, n int, ahead int64) []int64 {
	t.Helper()
	out := make([]int64, n)
	if got, err := c.Next(context.Background(), s, nil, seq, out, ahead); err != nil || got != n {
		t.Fatal(got, err)
	}
	return out
}

// TestBlocks: values are allocated in blocks, with as few commits as possible; values that a statement
// allocated and did not use are used by the next one.
func TestBlocks(t *testing.T) {
	ctx := context.Background()
	r, c := made(t, 1, 1<<40)
	var s, other Session
	if got := next(t, c, &s, 3, 0); !slices.Equal(got, []int64{1, 2, 3}) || r.advances != 1 {
		t.Error(got, r.advances)
	}
	if got := next(t, c, &s, 2, 10); !slices.Equal(got, []int64{4, 5}) || r.advances != 2 {
		t.Error(got, r.advances)
	}
	if got := next(t, c, &other, 1, 0); !slices.Equal(got, []int64{6}) || r.advances != 2 {
		t.Error(got, r.advances, "of what is at hand")
	}
	c.GiveBack(ctx, seq)
	if got := next(t, c, &s, 1, 0); !slices.Equal(got, []int64{7}) || r.returns != 1 {
		t.Error(got, r.returns, "after what was given back")
	}
	c.GiveBack(ctx, seq)
	if r.returns != 1 {
		t.Error("nothing was given back in a commit")
	}
	if v, ok := s.Currval(seq); v != 7 || !ok {
		t.Error(v, ok)
	}
	if of, v := other.Lastval(); of != seq || v != 6 {
		t.Error(of, v)
	}
	other.Discard()
	if _, ok := other.Currval(seq); ok {
		t.Error("a value is there that was discarded")
	}
}

// TestCache: with CACHE n, a session allocates n values at once and keeps them for its next
// statements.
func TestCache(t *testing.T) {
	r, c := made(t, 10, 1<<40)
	var s Session
	for want := int64(1); want <= 10; want++ {
		if got := next(t, c, &s, 1, 0); got[0] != want {
			t.Error(got, want)
		}
		c.GiveBack(context.Background(), seq)
	}
	if r.advances != 1 || r.returns != 0 {
		t.Error(r.advances, r.returns)
	}
}

// TestLimit: the last value is MAXVALUE.
func TestLimit(t *testing.T) {
	_, c := made(t, 1, 5)
	var s Session
	out := make([]int64, 7)
	n, err := c.Next(context.Background(), &s, nil, seq, out, 0)
	if n != 5 || pgerr.CodeOf(err) != pgerr.SequenceGeneratorLimitExceeded || !slices.Equal(out[:5], []int64{1, 2, 3, 4, 5}) {
		t.Error(n, out, err)
	}
	if v, _ := s.Currval(seq); v != 5 {
		t.Error(v)
	}
}

// TestSet: setval takes effect at once, even where values were allocated in advance.
func TestSet(t *testing.T) {
	_, c := made(t, 10, 1<<40)
	var s Session
	next(t, c, &s, 1, 0)
	if err := c.Set(context.Background(), &s, nil, seq, catalog.SeqValue{Last: 100}); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Currval(seq); v != 1 {
		t.Error(v, "after a setval that called nothing")
	}
	if got := next(t, c, &s, 1, 0); got[0] != 100 {
		t.Error(got)
	}
}

// TestOwn: a sequence that was created in the open transaction advances within it, and a rollback
// undoes both.
func TestOwn(t *testing.T) {
	ctx := context.Background()
	r := &replicated{st: catalog.New()}
	c := &Cache{Catalog: r, Log: slog.New(slog.DiscardHandler)}
	var s Session
	x := txn.New(1, nil)
	if _, err := c.Next(ctx, &s, x, seq, make([]int64, 1), 0); pgerr.CodeOf(err) != pgerr.UndefinedTable {
		t.Error(err)
	}
	if _, err := x.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(define(1, 1<<40), &catalog.SetSequence{OID: seq, Value: catalog.SeqValue{Last: 1}}); err != nil {
		t.Fatal(err)
	}
	mark := x.Mark()
	for range 2 {
		out := make([]int64, 3)
		if n, err := c.Next(ctx, &s, x, seq, out, 0); err != nil || n != 3 || !slices.Equal(out, []int64{1, 2, 3}) {
			t.Error(n, out, err)
		}
		x.RollbackTo(mark)
	}
	if r.advances != 0 {
		t.Error("others were told")
	}
}

type oids struct{ calls, from types.OID }

func (o *oids) AllocOIDs(_ context.Context, n int) (types.OID, error) {
	o.calls++
	o.from += types.OID(n)
	return o.from, nil
}

func TestOIDs(t *testing.T) {
	from := &oids{}
	o := OIDs{Catalog: from}
	seen := map[types.OID]bool{}
	for range 1000 {
		oid, err := o.New(context.Background())
		if err != nil || seen[oid] {
			t.Fatal(oid, err)
		}
		seen[oid] = true
	}
	if from.calls != 4 {
		t.Error(from.calls)
	}
}

// TestTakenAhead: a node that is asked for one value after the other takes some ahead, which its statements
// share, and which come back when the session ends; a sequence's position does not show them.
func TestTakenAhead(t *testing.T) {
	ctx := context.Background()
	r, c := made(t, 1, 1<<40)
	var s, other Session
	for want := int64(1); want <= 200; want++ {
		of := &s
		if want%3 == 0 {
			of = &other
		}
		if got := next(t, c, of, 1, 0); got[0] != want {
			t.Fatal(got, want)
		}
		c.GiveBack(ctx, seq) // the statement's end
		if at := c.At(r.st, seq); at != (catalog.SeqValue{Last: want, Called: true}) {
			t.Fatal(at, want)
		}
	}
	if r.advances > 25 || r.returns != 0 {
		t.Error(r.advances, r.returns)
	}
	if r.st.SequenceAt(seq).Last == 200 {
		t.Error("nothing was taken ahead")
	}
	c.Release(ctx, &s)
	if at := r.st.SequenceAt(seq); at.Last != 200 || r.returns != 1 {
		t.Error(at, r.returns)
	}
	before := r.advances
	if got := next(t, c, &s, 1, 0); got[0] != 201 || r.advances != before+1 {
		t.Error(got, r.advances)
	}
}

// TestNodesInTurn: nodes that take values in turn take none ahead, so that the values follow one another.
func TestNodesInTurn(t *testing.T) {
	r, a := made(t, 1, 1<<40)
	b := &Cache{Catalog: r, Log: a.Log}
	var s Session
	for want := int64(1); want <= 60; want += 2 {
		if x, y := next(t, a, &s, 1, 0), next(t, b, &s, 1, 0); x[0] != want || y[0] != want+1 {
			t.Fatal(x, y, want)
		}
	}
}
