package query

import (
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// guardedSources lets superusers alone read the server's files.
type guardedSources struct {
	bind.SourceCatalog
	super bool
}

// Source implements bind.SourceCatalog.
func (g guardedSources) Source(name string, args []plan.Arg) ([]plan.Column, float64, error) {
	if source.IsFile(name) && !g.super {
		return nil, 0, pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to read files with %s", name)
	}
	return g.SourceCatalog.Source(name, args)
}

// sources are the table functions that a role may use.
func sources(all bind.SourceCatalog, st *catalog.State, role types.OID) bind.SourceCatalog {
	me := st.Role(role)
	return guardedSources{all, me != nil && me.Super}
}
