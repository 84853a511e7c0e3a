package coord

import (
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
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

// sources are the table functions that the session's role may use.
func (s *Session) sources(st *catalog.State) bind.SourceCatalog {
	me := st.Role(s.role)
	return guardedSources{s.engine.cfg.Sources, me != nil && me.Super}
}
