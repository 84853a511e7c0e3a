package node

import (
	"context"

	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

type virtuals struct{ sources noSources }

func newVirtuals(*Node) *virtuals { return &virtuals{} }

func (v *virtuals) Virtual(schema, name string) ([]plan.Column, bool) { return nil, false }
func (v *virtuals) For(*coord.Session, *catalog.State) op.Virtuals    { return v }
func (v *virtuals) Open(context.Context, *plan.Virtual) (op.BatchReader, error) {
	return nil, pgerr.Unsupported("system relations are not supported yet")
}

type noSources struct{}

func (noSources) Source(string, []plan.Arg) ([]plan.Column, float64, error) { return nil, 0, nil }
func (noSources) Parts(*plan.Source) int                                    { return 1 }
func (noSources) Open(context.Context, *plan.Source, int, int) (op.BatchReader, error) {
	return nil, pgerr.Unsupported("sources are not supported yet")
}
