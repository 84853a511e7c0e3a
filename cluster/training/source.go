package training

import (
	"context"
	"crypto/sha256"

	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// source tells by what the dataset of an optimised query is found again; nil for
// one that is not kept.
func (d *drive) source(q *plan.Query) *train.Source {
	encoding := d.plan.Job.Encoding()
	id, ok := q.Identity(func(s *plan.Source) bool { return !source.IsFile(s.Name) })
	if encoding == nil || !ok || !d.x.Context.KeepDatasets {
		return nil
	}
	var users []catalog.EnumType
	for _, oid := range id.Types {
		t := d.state.EnumByOID(oid)
		if t == nil {
			return nil
		}
		users = append(users, *t)
	}
	src := &train.Source{}
	for _, oid := range id.Tables {
		src.Tables = append(src.Tables, train.Table{OID: oid, Digest: d.state.Manifest(oid).Digest()})
	}
	h := sha256.New()
	h.Write(codec.Marshal([][]byte{encoding, id.Plan, codec.Marshal(users), codec.Marshal(d.x.Context.Params), codec.Marshal(src.Tables)}))
	h.Sum(src.Key[:0])
	return src
}

// over opens the training over the dataset that one before has left; nil where there
// is none, and where each fold wants the rows.
func (d *drive) over(ctx context.Context, name string, src *train.Source) (Training, *train.Encoded, error) {
	if src == nil || d.plan.Job.Folds() > 0 {
		return nil, nil, nil
	}
	return d.j.cfg.Trainer.Over(ctx, name, d.plan.Job, src)
}

// digest is a table's as a state has it.
type digest struct {
	version uint64
	of      [32]byte
}

// prune lets datasets go of tables that have changed since. known is what was asked
// for before: a state for every commit is many.
func (j *Jobs) prune(st *catalog.State, known map[types.OID]digest) {
	j.cfg.Trainer.Prune(func(t train.Table) bool {
		m := st.Manifest(t.OID)
		if m == nil {
			return st.RelationByOID(t.OID) != nil && t.Digest == m.Digest()
		}
		d, ok := known[t.OID]
		if !ok || d.version != m.Version {
			d = digest{m.Version, m.Digest()}
			known[t.OID] = d
		}
		return d.of == t.Digest
	})
}
