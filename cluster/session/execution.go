package session

import (
	"fmt"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Execution is one run of one statement by a session.
type Execution struct {
	*write.Statement
	catalog txn.Catalog
	host    *host
	caller  func([]types.Datum, []types.Type) (*query.Caller, *host) // of the session, now
	watch   *watch
	mark    int
	nested  int // how many EXECUTEs it is in
}

// View is the catalog as this statement sees it.
func (x *Execution) View() (*catalog.State, error) { return x.Txn.Begin(x.Ctx, x.catalog) }

// AwaitTurn is TakeTurn in the newest state.
func (x *Execution) AwaitTurn(p *planner.Planned) (waited bool, err error) {
	return x.TakeTurn(x.catalog.Current(), p)
}

// maxNested bounds how deep EXECUTE may run EXECUTE, which the protocol can prepare.
const maxNested = 32

// Nested is the execution of another text with other parameters, within this one.
func (x *Execution) Nested(params []types.Datum, of []types.Type, text *parse.Statement) (*Execution, error) {
	if x.nested >= maxNested {
		return nil, pgerr.New(pgerr.StatementTooComplex, "EXECUTE is nested more than %d deep", maxNested)
	}
	n := *x
	c, h := x.caller(params, of)
	n.Statement = x.Statement.In(c, h, text)
	n.nested++
	return &n, nil
}

// undo takes back what the statement changed.
func (x *Execution) undo() {
	if x.Txn != nil && !x.Txn.Ended {
		x.Txn.Undo(x.mark)
	}
}

// checkLabels returns an error for a parameter with a label that its enumerated type does not have.
// Who read the parameter (package wire) knows no catalog.
func (x *Execution) checkLabels(params []types.Datum, of []types.Type) error {
	for i, t := range of {
		if t.OID < types.FirstUserOID || params[i] == nil {
			continue
		}
		if en := x.catalog.Current().EnumByOID(t.OID); en != nil {
			if _, found := en.Stranger(params[i]); !found {
				continue
			}
		}
		st, err := x.View() // may have a newer label, or one that the transaction added
		if err != nil {
			return err
		}
		if en := st.EnumByOID(t.OID); en != nil {
			if l, found := en.Stranger(params[i]); found {
				e := en.ErrLabel(l)
				e.Where = fmt.Sprintf("unnamed portal parameter $%d", i+1)
				return e
			}
		}
	}
	return nil
}
