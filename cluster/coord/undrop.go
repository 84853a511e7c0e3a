package coord

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Historian is a Meta that knows the past.
type Historian interface {
	// Was is txn.Historian's Past with the privileges of then, for a time or, if it is not 0, for a version.
	Was(ctx context.Context, at time.Time, version uint64, hold func(version uint64)) (*catalog.State, error)
	// Seen is txn.Historian's Past for the state of a version.
	Seen(ctx context.Context, version uint64, hold func(version uint64)) (*catalog.State, error)
}

// undrop handles UNDROP TABLE: the table of the past is adopted as one of a backup, with its files where they are.
func undrop(c *dispatcher, n *parse.Undrop) *session.Command {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		const tag = "UNDROP TABLE"
		if err := x.Txn.Writable(tag); err != nil {
			return "", err
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		past, ok := c.cfg.Meta.(Historian)
		if !ok {
			return "", pgerr.Unsupported("reading the past is not supported here")
		}
		then, rel, err := droppedTable(ctx, c, x, st, past, n)
		if err != nil {
			return "", err
		}
		if then.Lost(rel.OID) {
			return "", pgerr.New(pgerr.SnapshotTooOld, "the past of table %q is not kept that long", rel.Name).WithDetail("Some of its files were removed.")
		}
		if !st.Inherits(x.Caller.Role, rel.Owner) {
			return "", pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", rel.Name)
		}
		name := then.Schema(rel.Schema).Name
		into := st.SchemaByName(name)
		switch {
		case into == nil:
			return "", pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", name).WithHint("Create it first; tables come back into the schema of this name.")
		case !st.May(x.Caller.Role, into.Object(), 'C'):
			return "", pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", name)
		}
		a := backup.NewAdoption(backup.Adoption{Old: then, Now: st, Schema: into, Name: cmp.Or(n.As, rel.Name), Owner: x.Caller.Role, SameFiles: true, Keep: true,
			NewOID: func() (types.OID, error) { return c.oids.New(ctx) }})
		if err := a.Table(rel); err != nil {
			return "", err
		}
		changes := a.Changes
		if s := then.Statistics(rel.OID); s != nil {
			changes = append(changes, &catalog.PutStatistics{Statistics: s})
		}
		if _, err := x.Txn.Add(changes...); err != nil {
			return "", err
		}
		for _, w := range a.Warnings {
			c.s.Notice(w)
		}
		return tag, nil
	})
}

// droppedTable finds the table that an UNDROP names, and the state of the past that has it.
func droppedTable(ctx context.Context, c *dispatcher, x *session.Execution, st *catalog.State, past Historian, n *parse.Undrop) (*catalog.State, *catalog.Relation, error) {
	path, name, err := lookIn(x, st, n.Name)
	if err != nil {
		return nil, nil, err
	}
	if n.AsOf != "" {
		at, err := query.AsOf(n.AsOf, c.s.Caller().Values, time.Now())
		if err != nil {
			return nil, nil, err
		}
		then, err := past.Was(ctx, at, 0, x.Txn.Hold)
		if err != nil {
			return nil, nil, err
		}
		o, err := find(x, then, then, "table", n.Name)
		rel := o.Table
		switch {
		case err != nil:
			return nil, nil, err
		case rel == nil || rel.Kind != catalog.KindTable:
			return nil, nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" did not exist then", strings.Join(n.Name, "."))
		case st.RelationByOID(rel.OID) != nil:
			return nil, nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "table %q is not dropped", rel.Name).
				WithHint("CREATE TABLE … AS SELECT … FROM %s FOR SYSTEM_TIME AS OF … has its rows of the past.", rel.Name)
		}
		return then, rel, nil
	}
	for _, g := range slices.Backward(st.Graves()) {
		d := g.Table
		if d == nil || d.Name != name || !slices.Contains(path, d.Schema) || st.RelationByOID(g.Of) != nil {
			continue
		}
		then, err := past.Was(ctx, time.Time{}, d.Version, x.Txn.Hold)
		if err != nil {
			return nil, nil, err
		}
		if rel := then.RelationByOID(g.Of); rel != nil {
			return then, rel, nil
		}
		return nil, nil, pgerr.Internal("the past has no table %q", name)
	}
	return nil, nil, pgerr.New(pgerr.UndefinedTable, "no table %q was dropped that can be brought back", strings.Join(n.Name, ".")).
		WithHint("Tables that were dropped are kept for as long as tributary.retention says; cluster.history lists them.")
}
