package query

import (
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sources are the table functions that read or make rows in bulk. Files that lie
// below directories of shared are the same on all nodes.
type Sources interface {
	Source(name string, args []plan.Arg, shared []string) (*plan.Source, error)
}

// guardedSources allows only superusers and members of pg_read_server_files to read the server's files.
type guardedSources struct {
	all    Sources
	shared []string
	files  bool
}

// Source implements bind.SourceCatalog.
func (g guardedSources) Source(name string, args []plan.Arg) (*plan.Source, error) {
	if source.IsFile(name) && !g.files {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be superuser or have privileges of the pg_read_server_files role to read files with %s", name)
	}
	return g.all.Source(name, args, g.shared)
}

// sources returns the table functions that a statement may use.
func sources(all Sources, st *catalog.State, c *Caller) bind.SourceCatalog {
	return guardedSources{all, c.Shared, st.Inherits(c.Role, catalog.ReadFilesOID)}
}
