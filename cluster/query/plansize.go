package query

import (
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
)

// planSize is the memory of a statement's trees. They may be many times as large as its text, which is
// charged before it is parsed: through views. The pool is the node's, for work_mem limits the statement's.
type planSize struct {
	pool *mem.Pool
	acct *mem.Account // nil as long as there is little
}

const (
	columnBytes = 1 << 10 // for each column of a plan: measured on views over views
	smallPlan   = 1 << 20 // is not worth charging
)

// grown charges for a plan that has so many columns.
func (p *planSize) grown(columns expr.ColID) error {
	n := columnBytes * int64(columns)
	if n < smallPlan {
		return nil
	}
	if p.acct == nil {
		p.acct = p.pool.Account("statement plan", false)
	}
	return p.acct.Resize(max(n, p.acct.Used()))
}

func (p *planSize) close() {
	if p.acct != nil {
		p.acct.Close()
		p.acct = nil
	}
}
