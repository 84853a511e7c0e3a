package training

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Columns returns the columns of the row that TRAIN MODEL returns.
func Columns() (cols []plan.Column) {
	for i, c := range []struct {
		name string
		typ  types.Type
	}{{"model", types.Text}, {"version", types.Int4}, {"algorithm", types.Text}, {"rows", types.Int8}, {"features", types.Int4},
		{"iterations", types.Int4}, {"train_loss", types.Float8}, {"metrics", types.JSONB}, {"seconds", types.Float8}} {
		cols = append(cols, plan.Column{ID: expr.ColID(i + 1), Name: c.name, Type: c.typ})
	}
	return cols
}

// Row returns that row.
func Row(sc *catalog.Schema, name string, v *catalog.ModelVersion) []types.Datum {
	if sc != nil {
		name = sc.Name + "." + name
	}
	return []types.Datum{name, int64(v.Number), v.Algorithm, v.Rows, int64(len(v.Features)), int64(v.Iterations), types.FiniteOrNull(v.TrainLoss),
		sysview.MetricsJSON(v.Metrics), v.Seconds}
}

// version returns the change that puts the model, or its next version, into the catalog; after it those of
// trials whose models are kept.
func (j *Jobs) version(ctx context.Context, rec *catalog.Job, old *catalog.Model, d *drive) (catalog.Change, *catalog.ModelVersion, error) {
	v := d.version(rec, d.result, d.rec.models[0])
	if old != nil {
		v.Number = old.Next()
	}
	var kept []catalog.ModelVersion
	for i, t := range d.result.Kept {
		k := d.version(rec, t.Result, d.rec.models[i+1])
		k.Number, k.Seconds = v.Number+i+1, d.result.Trials[t.Number-1].Seconds
		kept = append(kept, *k)
	}
	v.Groups = d.groups
	if o := d.plan.Job.Outlook(); o != nil && d.result.Best > 0 { // else each group has a search of its own
		v.Search, v.Folds = &catalog.ModelSearch{Algorithm: o.Algorithm, Objective: d.result.Objective, Best: d.result.Best}, nil
		for _, t := range d.result.Trials {
			v.Search.Trials = append(v.Search.Trials, t.Record())
		}
		v.Search.Trials[d.result.Best-1].Version = v.Number
		for i, t := range d.result.Kept {
			v.Search.Trials[t.Number-1].Version = kept[i].Number
		}
	}
	change, err := j.put(ctx, rec.Schema, rec.Model, rec.Owner, old, v, kept...)
	return change, v, err
}

// version describes a training whose model is in a file, as the first version.
func (d *drive) version(rec *catalog.Job, res *train.Result, model *catalog.Segment) *catalog.ModelVersion {
	s, p := d.statement, d.plan
	v := catalog.ModelVersion{Number: 1, Algorithm: res.Model.Algorithm, Task: string(res.Model.Task), Converged: res.Converged, Stopped: res.Stopped,
		Rows: res.Rows, Iterations: res.Iterations, TrainLoss: res.TrainLoss, Seconds: res.Elapsed.Seconds(),
		Statement: s.Text.Text, CreatedAt: time.Now().UTC()}
	v.Keep(model)
	v.Snapshot = snapshot(rec, d.state, p.uses())
	v.Origin = d.origin(rec)
	if res.Profile != nil {
		v.Profile = res.Profile.Append(nil)
	}
	if c := p.Job.Target(); c != nil {
		v.Target, v.TargetType = p.Job.Targets(), c.Type
	}
	v.Beside = p.Job.Beside()
	for _, o := range res.Model.Columns() {
		v.Outputs = append(v.Outputs, catalog.ModelFeature{Name: o.Name, Type: o.Type})
	}
	features := func(cols []record.Column) (out []catalog.ModelFeature) {
		for _, c := range cols {
			out = append(out, catalog.ModelFeature{Name: c.Name, Type: c.Type})
		}
		return out
	}
	v.Features = features(p.Job.Features())
	if w := res.Model.Windows; w != nil {
		v.Windows = &catalog.ModelWindows{PartitionBy: features(w.PartitionBy), OrderBy: features(w.OrderBy), Length: w.Length, Stride: w.Stride}
	}
	if p.transform != nil {
		p.transform.describe(&v)
	}
	v.Metrics = named(res.Metrics)
	for _, f := range res.Folds {
		v.Folds = append(v.Folds, catalog.ModelFold{Rows: f.Rows, Held: f.Held, Iterations: f.Iterations, Seconds: f.Seconds, Metrics: named(f.Metrics)})
	}
	for _, o := range s.Options {
		if o.Name == family.Holidays.Names[0] && p.holidays != "" {
			o.Text = p.holidays // by whatever search path it is read again
		}
		v.Options = append(v.Options, catalog.NamedText{Name: o.Name, Value: o.Text})
	}
	for _, h := range res.History {
		v.History = append(v.History, catalog.Iteration{Number: h.Number, TrainLoss: h.TrainLoss, ValidationLoss: h.ValidationLoss, Seconds: h.Seconds})
	}
	v.Classes = res.Model.Classes()
	for i := range v.Target[min(1, len(v.Target)):] {
		part := res.Model.Part(i + 1)
		v.More = append(v.More, catalog.ModelTarget{Type: part.Fitted.Label.Type, Classes: part.Classes()})
	}
	for _, w := range res.Warnings {
		v.Warnings = append(v.Warnings, catalog.ModelWarning(w))
	}
	return &v
}

// put returns the change that puts a version into the catalog: the first of a new model, or the next one of
// old. It sets the version's number. Further ones have theirs.
func (j *Jobs) put(ctx context.Context, schema types.OID, name string, owner types.OID, old *catalog.Model, v *catalog.ModelVersion, further ...catalog.ModelVersion) (catalog.Change, error) {
	m := &catalog.Model{Schema: schema, Name: name, Owner: owner}
	var expect uint64
	if old != nil {
		m, expect = old.Bare(), old.Version
		v.Number = old.Next()
	} else {
		oid, err := j.cfg.NewOID(ctx)
		if err != nil {
			return nil, err
		}
		m.OID, m.ACL = oid, j.cfg.Catalog.Current().NewACL(catalog.ClassModel, owner, schema)
	}
	m.Versions, m.Default, m.Last = append([]catalog.ModelVersion{*v}, further...), v.Number, v.Number+len(further)
	return &catalog.ChangeModel{Model: m, ExpectVersion: expect}, nil
}

// origin describes what a job trained with beside its rows.
func (d *drive) origin(rec *catalog.Job) *catalog.ModelOrigin {
	o := &catalog.ModelOrigin{Session: rec.Session, Build: d.j.cfg.Build}
	if r := d.state.Role(rec.Owner); r != nil {
		o.By = r.Name
	}
	if d.base != nil {
		o.Parent = d.base.Number
	}
	return o
}

// snapshot describes the rows that a job read of a state.
func snapshot(job *catalog.Job, st *catalog.State, uses []plan.TableUse) *catalog.ModelSnapshot {
	out := &catalog.ModelSnapshot{Version: cmp.Or(job.ReadVersion, st.Version()), At: job.CreatedAt}
	read := map[types.OID][]int16{}
	for _, u := range uses {
		read[u.OID] = append(read[u.OID], u.Columns...)
	}
	for _, oid := range slices.Sorted(maps.Keys(read)) {
		if r, m := st.RelationByOID(oid), st.Manifest(oid); r != nil && m != nil {
			t := catalog.ModelTable{OID: oid, Name: r.Name, Version: m.Version, Rows: m.Rows(), Digest: m.Digest()}
			if sc := st.Schema(r.Schema); sc != nil { // that of a table of the past may be gone
				t.Schema = sc.Name
			}
			for i := range r.Columns {
				if c := &r.Columns[i]; slices.Contains(read[oid], c.Num) {
					t.Columns = append(t.Columns, c.Name)
				}
			}
			out.Tables = append(out.Tables, t)
		}
	}
	return out
}

func named(ms []family.Metric) (out []catalog.NamedValue) {
	for _, m := range ms {
		out = append(out, catalog.NamedValue{Name: m.Name, Value: m.Value})
	}
	return out
}
