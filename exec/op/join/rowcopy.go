package join

import (
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
)

// rowCopy is a copy of a large table's given columns by row (kernel.Rows). It is made once there
// were pairs for one in copyShare of the rows: for a table that few probe rows match it would not
// pay. Threads copy a few chunks each with every batch, and read columns until all are copied. It is
// optional memory: if refused, there is no copy.
type rowCopy struct {
	rows  *kernel.Rows
	least int64 // pairs
	acct  *mem.Account

	given      atomic.Int64 // pairs so far
	asked      atomic.Bool  // a thread asks for memory, or has asked
	made       atomic.Bool  // there is some
	next, done atomic.Int64 // chunks
	ready      atomic.Pointer[kernel.Rows]
}

const (
	// copyShare: a copy costs about as much as it saves for an eighth of the rows.
	copyShare = 16
	// copyAtOnce is how many chunks a thread copies between two looks at whether it is cancelled.
	copyAtOnce = 64
)

func newRowCopy(t *hashTable, acct *mem.Account) *rowCopy {
	if !t.cfg.emitsPairs() || t.rows.Rows() == 0 || len(t.cfg.rOutAt) == 0 {
		return nil
	}
	cols := make([]*kernel.Column, len(t.cfg.rStoredTypes))
	for i := range cols {
		cols[i] = t.rows.Column(i)
	}
	rows := kernel.NewRows(cols, t.cfg.rOutAt, t.widest)
	if rows == nil {
		return nil
	}
	return &rowCopy{rows: rows, least: t.rows.Rows() / copyShare, acct: acct}
}

// read returns the copy where it is ready, and counts n more pairs.
func (c *rowCopy) read(n int) *kernel.Rows {
	if c == nil {
		return nil
	}
	if rows := c.ready.Load(); rows != nil {
		return rows
	}
	if c.given.Add(int64(n)) < c.least {
		return nil
	}
	if c.asked.CompareAndSwap(false, true) && c.acct.Try(c.rows.Bytes()) {
		c.rows.Make()
		c.made.Store(true)
	}
	if !c.made.Load() {
		return nil
	}
	all := int64(c.rows.Chunks())
	for range copyAtOnce {
		ch := c.next.Add(1) - 1
		if ch >= all {
			break
		}
		c.rows.Fill(int(ch))
		if c.done.Add(1) == all {
			c.ready.Store(c.rows)
		}
	}
	return c.ready.Load()
}

// free is called when no thread reads any more.
func (c *rowCopy) free() {
	if c != nil && c.made.Load() {
		c.rows.Free()
	}
}

// gather returns the given right columns of the rows ids.
func (p *prober) gather(ids []uint32) []arrow.Array {
	if rows := p.t.copy.read(len(ids)); rows != nil {
		return rows.Spread(ids, nil, len(ids), false, p.cfg.rOutAt, nil)
	}
	return p.t.rows.Gather(ids, p.cfg.rOutAt)
}

// spread is gather of rows beside left ones that stay as they are: row at[i] of n is ids[i].
func (p *prober) spread(ids []uint32, at []int32, n int) []arrow.Array {
	none := p.cfg.emitsUnmatched()
	if rows := p.t.copy.read(len(ids)); rows != nil {
		return rows.Spread(ids, at, n, none, p.cfg.rOutAt, p.reuse)
	}
	return p.t.rows.Spread(ids, at, n, none, p.cfg.rOutAt, p.reuse)
}
