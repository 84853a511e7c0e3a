package meta

import (
	"slices"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/version"
)

// Allows refuses to propose changes that nodes of the version before would not understand, until the
// cluster is finalised. The commit that finalises it is for nodes that do.
func (f *FSM) Allows(changes []catalog.Change) error {
	if f.Current().Finalized() >= version.Binary || slices.ContainsFunc(changes, finalizes) {
		return nil
	}
	if what := codec.Beyond(changes); what != "" {
		return version.NotFinalized(what)
	}
	return nil
}

func finalizes(x catalog.Change) bool {
	_, ok := x.(*catalog.FinalizeVersion)
	return ok
}
