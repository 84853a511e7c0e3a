package write

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// lockedRows reads a query's rows for the client and locks those of the tables
// that FOR UPDATE names. Nobody waits for a lock: the transaction records what
// it has locked, and its commit fails (40001) if by then somebody has changed
// one of the rows, or has locked it, too.
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
}

// lockSet collects the row ids of one locked item of FROM.
type lockSet struct {
	plan.Lock
	at   int // the column of the ids; < 0: the whole table
	rows op.RowIDs
}

// SelectLocked is Select for a query that locks rows (q.Locks).
func (r *Executor) SelectLocked(q *plan.Query) (op.BatchReader, []plan.Column, error) {
	wide := *q
	wide.Cols = slices.Clone(q.Cols)
	var locks []*lockSet
	for _, l := range q.Locks {
		x := &lockSet{Lock: l, at: -1}
		if l.Col != 0 {
			x.at = len(wide.Cols)
			wide.Cols = append(wide.Cols, plan.Column{ID: l.Col, Name: "rowid", Type: types.Int8})
		}
		locks = append(locks, x)
	}
	rows, cols, err := r.Select(&wide)
	if err != nil {
		return nil, nil, err
	}
	width := len(q.Cols)
	return &lockedRows{BatchReader: rows, txn: r.x.Txn, st: r.st, width: width, locks: locks, acct: r.x.Pool.Account("row locks", false)}, cols[:width], nil
}

// Next implements op.BatchReader.
func (r *lockedRows) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
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
		for _, ord := range l.rows.Ordinals() {
			_, seg := store.At(r.st.Manifest(l.Table), ord)
			enc, err := l.rows.Encoded(ord)
			if err != nil {
				return err
			}
			changes = append(changes, &catalog.LockRows{Table: l.Table, Segment: seg.ID, Rows: enc})
			for it := l.rows.Rows(ord).Iterator(); it.HasNext() && !claim.All; {
				claim.Hashes = append(claim.Hashes, binary.LittleEndian.Uint64(seg.ID[:])+uint64(it.Next())*0x9e3779b97f4a7c15)
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
