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

// source returns the identity of an optimised query's dataset, by which a later training finds it in
// the cache: a key of the plan, the encoding, parameters and enums, and the tables' contents. It is
// nil if the dataset is not cached: if it depends on more than that, as on a file, or the session does
// not want it.
func (d *drive) source(q *plan.Query) *train.Source {
	encoding := d.job().Encoding()
	id, ok := q.Identity(func(s *plan.Source) bool { return !source.IsFile(s.Name) })
	if encoding == nil || !ok || !d.x.Caller.KeepDatasets {
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
	h.Write(codec.Marshal([][]byte{encoding, id.Plan, codec.Marshal(users), codec.Marshal(d.x.Caller.Params), codec.Marshal(src.Tables)}))
	h.Sum(src.Key[:0])
	return src
}

// openCached opens the training on the cached dataset of an earlier one. It returns nil if there is none, or
// if the training has folds, which need the rows themselves.
func (d *drive) openCached(ctx context.Context, name string, src *train.Source) (Training, *train.Encoded, error) {
	if src == nil || d.job().Folds() > 0 {
		return nil, nil, nil
	}
	return d.j.cfg.Trainer.OpenCached(ctx, name, d.job(), src, d.x.Caller.SessionUser)
}

// digest is the digest of a table's contents at a version of its manifest.
type digest struct {
	version uint64
	of      [32]byte
}

// prune drops cached datasets of tables that have changed. known caches digests between calls, by the
// version of the manifest: most tables have not changed since the last one.
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
