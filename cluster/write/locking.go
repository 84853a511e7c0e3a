package write

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// lockedRows reads a query's rows for the client and locks those of the tables
// that FOR UPDATE names. Nobody waits for a lock: the transaction records what
// it has locked, and its commit fails (40001) if by then somebody has changed
// one of the rows, or has locked it, too. With SKIP LOCKED and NOWAIT a row is locked
// for others that ask so before it is returned: those who take turns at a queue get
// different rows.
//
//	rows, row ids ──▶ rows
//	     └─ at the end ─▶ LockRows   a row a change of somebody would delete
//	                      UniqueKeys a row that somebody else has locked since
type lockedRows struct {
	op.BatchReader
	txn   *Txn
	st    *catalog.State
	width int // columns of the client
	locks []*lockSet
	acct  *mem.Account
	done  bool
	now   bool  // rows are locked as they are returned: SKIP LOCKED or NOWAIT
	limit int64 // how many are returned at most, where they are; < 0: no limit
	host  Host
}

// lockSet collects the row ids of one locked item of FROM.
type lockSet struct {
	plan.Lock
	at   int // the column of the ids; < 0: the whole table
	rows op.RowIDs
}

// lockRows locks the rows that a query with these columns returns, width of them to its reader.
func (r *Executor) lockRows(locks []plan.Lock, cols []plan.Column, width int) *lockedRows {
	l := &lockedRows{txn: r.x.Txn, st: r.st, width: width, limit: -1, host: r.x.Host}
	for _, k := range locks {
		x := &lockSet{Lock: k, at: -1}
		if k.Col != 0 {
			x.at = slices.IndexFunc(cols, func(c plan.Column) bool { return c.ID == k.Col })
		}
		l.locks = append(l.locks, x)
		l.now = l.now || x.at >= 0 && (x.Skip || x.NoWait)
	}
	return l
}

// SelectLocked is SelectBound for a query that locks rows (Query.Locks).
func (r *Executor) SelectLocked(b *planner.Bound) (op.BatchReader, []plan.Column, error) {
	q, wide := b.Query, b.Wide()
	l := r.lockRows(q.Locks, wide.Query.Cols, len(q.Cols))
	if top, ok := q.Root.(*plan.Limit); ok && l.now && !top.Ties && top.Offset == nil {
		if n, ok := top.Count.(*expr.Const); ok && n.Val != nil {
			l.limit = n.Val.(int64)
			more := *wide.Query
			more.Root = wider(q.Root, plan.Skipped+l.others())
			wide = planner.Once(&more)
		}
	}
	rows, cols, err := r.SelectBound(wide)
	if err != nil {
		return nil, nil, err
	}
	l.BatchReader, l.acct = rows, r.x.Pool.Account("row locks", false)
	return l, cols[:l.width], nil
}

// lockedBuffer reads and locks the rows of a nested query.
func (r *Executor) lockedBuffer(d plan.BufferDef) (op.BatchReader, error) {
	l := r.lockRows(d.Locks, d.Cols, len(d.Cols))
	if l.limit = d.Limit; l.limit >= 0 {
		d.Root = wider(d.Root, l.others())
	}
	rows, err := r.Rows(r.x.Ctx, d)
	if err != nil {
		return nil, err
	}
	l.BatchReader, l.acct = rows, r.x.Pool.Account("row locks", false)
	return l, nil
}

// others is how many rows are locked, by whomever.
func (r *lockedRows) others() (n int64) {
	for _, x := range r.locks {
		n += int64(r.host.LockedRows(x.Table))
	}
	return n
}

// wider has the LIMIT on top of a query, which counts the rows that are returned, look at more. A
// sort below it may know how many are wanted.
func wider(n plan.Node, more int64) plan.Node {
	switch n := n.(type) {
	case *plan.Limit:
		if c, ok := n.Count.(*expr.Const); ok && c.Val != nil {
			wide := *n
			wide.Count = &expr.Const{Val: c.Val.(int64) + more, Typ: c.Typ}
			wide.Input = wider(n.Input, more)
			return &wide
		}
	case *plan.Sort:
		if n.Limit >= 0 {
			wide := *n
			wide.Limit += more
			return &wide
		}
	case *plan.Project:
		return n.WithChildren([]plan.Node{wider(n.Input, more)})
	}
	return n
}

// lock locks the rows of a batch as they are returned, and leaves out those that are to be skipped.
func (r *lockedRows) lock(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	sel := make([]int32, 0, b.Rows()) // nil would be all rows
	for i := 0; i < b.Rows() && r.limit != 0; i++ {
		at, take := i, true
		if b.Sel != nil {
			at = int(b.Sel[i])
		}
		for _, l := range r.locks {
			if l.at < 0 || !l.Skip && !l.NoWait || !take {
				continue
			}
			id := b.Cols[l.at].(*array.Int64).Value(at)
			_, seg := store.At(r.st.Manifest(l.Table), uint32(id>>32))
			locked, there, err := r.host.LockRow(ctx, l.Lock, seg, uint32(id))
			switch {
			case err != nil:
				return nil, err
			case !locked && l.NoWait:
				return nil, pgerr.New(pgerr.LockNotAvailable, "could not obtain lock on row in relation %q", r.st.RelationByOID(l.Table).Name)
			}
			take = locked && (there || l.NoWait) // a row that has changed fails at the commit
		}
		if take {
			sel = append(sel, int32(at))
			r.limit-- // from -1 on it is never 0
		}
	}
	return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: b.Seq}, nil
}

// RowHash names a row of a segment.
func RowHash(seg catalog.SegmentID, row uint32) uint64 {
	return binary.LittleEndian.Uint64(seg[:]) + uint64(row)*0x9e3779b97f4a7c15
}

// Next implements op.BatchReader.
func (r *lockedRows) Next(ctx context.Context) (*batch.Batch, error) {
	var b *batch.Batch
	err := io.EOF
	if r.limit != 0 {
		b, err = r.BatchReader.Next(ctx)
	}
	if err == nil && r.now {
		b, err = r.lock(ctx, b)
	}
	if err == io.EOF {
		if err := r.finish(); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	for _, l := range r.locks {
		if l.at >= 0 {
			if _, err := l.rows.Add(ctx, r.acct, b, l.at); err != nil {
				return nil, err
			}
		}
	}
	return b.With(slices.Clone[[]arrow.Array](b.Cols[:r.width])), nil
}

// Close implements op.BatchReader: rows that were read are locked, be there more
// or not.
func (r *lockedRows) Close() error {
	err := errors.Join(r.finish(), r.BatchReader.Close())
	r.acct.Close()
	return err
}

func (r *lockedRows) finish() error {
	if r.done || r.txn.Ended {
		return nil
	}
	r.done = true
	var changes []catalog.Change
	for _, l := range r.locks {
		claim := &catalog.UniqueKeys{Table: l.Table, Constraint: l.Table, ReadVersion: r.st.Version()}
		if l.Share {
			claim.Side = catalog.SideShares
		}
		if l.at < 0 {
			claim.All = true
			changes = append(changes, &catalog.Guard{Table: l.Table, Since: r.st.Version(), Deletes: true})
		}
		m := r.st.Manifest(l.Table)
		for _, ord := range l.rows.Ordinals() {
			_, seg := store.At(m, ord)
			enc, err := l.rows.Encoded(ord)
			if err != nil {
				return err
			}
			changes = append(changes, &catalog.LockRows{Table: l.Table, Segment: seg.ID, Rows: enc})
			for it := l.rows.Rows(ord).Iterator(); it.HasNext() && !claim.All; {
				// At its earlier places too: who has locked it there, before compaction moved it, claims it only there.
				for id, row := range m.Places(seg.ID, it.Next()) {
					claim.Hashes = append(claim.Hashes, RowHash(id, row))
				}
				if len(claim.Hashes) > maxListedKeys {
					claim.All, claim.Hashes = true, nil
				}
			}
		}
		if claim.All || len(claim.Hashes) > 0 {
			changes = append(changes, claim)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err := r.txn.Add(changes...)
	return err
}
