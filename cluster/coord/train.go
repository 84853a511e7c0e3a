package coord

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// trainColumns are those of the one row that TRAIN MODEL returns.
func trainColumns() []plan.Column {
	cols := textCols("model", "version", "algorithm", "rows", "features", "iterations", "train_loss", "metrics", "seconds")
	for i, t := range map[int]types.Type{1: types.Int4, 3: types.Int8, 4: types.Int4, 5: types.Int4, 6: types.Float8, 7: types.JSONB, 8: types.Float8} {
		cols[i].Type = t
	}
	return cols
}

// trainModel handles {TRAIN|CREATE} MODEL.
func (s *Session) trainModel(ctx context.Context, st *parse.Statement, n *parse.TrainModel, params []types.Type) (*handler, error) {
	s.ensureTxn()
	view, err := s.tx.begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	t := &training{s: s, st: st, n: n}
	p, err := t.bind(ctx, view, params)
	if err != nil {
		return nil, err
	}
	return &handler{cols: trainColumns(), params: p.query.Params, open: t.run}, nil
}

// training is a TRAIN statement.
type training struct {
	s  *Session
	st *parse.Statement
	n  *parse.TrainModel
	// retrain is set by RETRAIN: the model must be there.
	retrain bool
	// explain is set by EXPLAIN; planned is then the dataset stage as it ran.
	explain *explainOptions
	planned string
	reading time.Duration // that the dataset stage and the dealing took
	members []uint64      // nodes of the workers
}

// trainPlan is a TRAIN statement that has been checked.
type trainPlan struct {
	query     *plan.Query // whose columns are trained on
	given     *plan.Query // the rows to begin with, nil for none
	job       *train.Job
	transform *transformed // nil without TRANSFORM
}

func (t *training) bind(ctx context.Context, st *catalog.State, params []types.Type) (*trainPlan, error) {
	q, err := bind.Query(t.s.planning(ctx, st, t.st, params), t.n.Query)
	if err != nil {
		return nil, err
	}
	var args []family.Arg
	for _, o := range t.n.Options {
		v, err := optionValue(o.Value)
		if err != nil {
			return nil, pgerr.From(err).At(o.Pos)
		}
		args = append(args, family.Arg{Name: o.Name, Value: v, Pos: o.Pos})
	}
	p, sel := &trainPlan{query: q}, t.n.Query
	var encoders []feature.Transform
	split, err := train.ReadSplit(args, datasetColumns(q))
	if err != nil {
		return nil, err
	}
	if seq := split != nil && split.Seq; t.n.Transform != nil || seq {
		p.transform, err = t.transform(t.s.planning(ctx, st, t.st, nil), q, func(name string) bool { return t.isTarget(name, args) })
		if err != nil {
			return nil, err
		}
		if seq {
			if err := p.transform.hold(split, t.n.Query); err != nil {
				return nil, err
			}
			args = split.Told(args)
		}
		encoders = p.transform.encoders
		sel = p.transform.over(sel)
		if p.query, err = bind.Query(t.s.planning(ctx, st, t.st, params), sel); err != nil {
			return nil, err
		}
	}
	p.job, err = train.NewJob(t.n.Algorithm, t.n.Predict, args, encoders, datasetColumns(p.query))
	if err == nil && p.job.Options.Bool("nan_as_null", false) {
		if sel, err = missingNaN(sel, p.query, p.job); err != nil {
			return nil, err
		}
		p.query, err = bind.Query(t.s.planning(ctx, st, t.st, params), sel)
	}
	if err == nil && p.job.Plan.Given != nil {
		p.given, err = t.given(ctx, st, p.job)
	}
	return p, err
}

// uses are all that the training reads.
func (p *trainPlan) uses() []plan.TableUse {
	if p.given == nil {
		return p.query.Tables
	}
	return slices.Concat(p.query.Tables, p.given.Tables)
}

// datasetColumns are a query's columns as they are trained on.
func datasetColumns(q *plan.Query) (cols []dataset.Column) {
	for _, c := range q.Cols {
		typ := c.Type
		if typ.OID == types.UnknownOID || typ.OID == types.BpcharOID {
			typ = types.Text // a category without the blanks at its end
		}
		cols = append(cols, dataset.Column{Name: c.Name, Type: typ})
	}
	return cols
}

func (t *training) isTarget(name string, args []family.Arg) bool {
	if slices.ContainsFunc(t.n.Predict, func(p string) bool { return strings.EqualFold(p, name) }) {
		return true
	}
	for _, a := range args {
		if family.NamesColumn(a, name) {
			return true
		}
	}
	return false
}

// optionValue reads a constant option: a number, a string, a word, a list.
func optionValue(n ast.Node) (types.Datum, error) {
	switch v := n.(type) {
	case *ast.A_Const:
		if v.Isnull || v.Val == nil {
			return nil, nil
		}
		switch c := v.Val.(type) {
		case *ast.Integer:
			return int64(c.IVal), nil
		case *ast.Float:
			return types.ParseDecimal(c.FVal)
		case *ast.Boolean:
			return c.BoolVal, nil
		case *ast.Null:
			return nil, nil
		}
		return constText(v.Val), nil
	case *ast.ColumnRef:
		return wordText(v), nil
	case *ast.ParenExpr:
		return optionValue(v.Expr)
	case *ast.A_Expr:
		if v.Lexpr == nil && v.Name != nil && len(v.Name.Items) == 1 && constText(v.Name.Items[0]) == "-" {
			d, err := optionValue(v.Rexpr)
			if err != nil {
				return nil, err
			}
			switch x := d.(type) {
			case int64:
				return -x, nil
			case types.Decimal:
				return x.Neg(), nil
			}
		}
	case *ast.ArrayExpr:
		var out types.Array
		out.Elem = types.Text
		if v.Elements != nil {
			for i, e := range v.Elements.Items {
				d, err := optionValue(e)
				if err != nil {
					return nil, err
				}
				if _, num := d.(types.Decimal); num && i == 0 {
					out.Elem = types.Numeric
				} else if _, num := d.(int64); num && i == 0 {
					out.Elem = types.Int8
				}
				out.Elems = append(out.Elems, d)
			}
		}
		return out, nil
	case *ast.RowExpr: // a pair, ('yes', 2)
		return optionValue(ast.NewArrayConstructor(v.Args))
	case *ast.FuncCall: // BigQuery's STRUCT('yes', 2)
		if name := v.Funcname.Items; len(name) == 1 && strings.EqualFold(constText(name[0]), "struct") {
			return optionValue(ast.NewArrayConstructor(v.Args))
		}
	case *ast.TypeCast:
		return optionValue(v.Arg)
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "an option's value must be a constant")
}

// wordText is a bare word, or the words of a qualified name.
func wordText(v *ast.ColumnRef) string {
	if v.Fields == nil || len(v.Fields.Items) < 2 {
		return constText(v)
	}
	var names []string
	for _, f := range v.Fields.Items {
		names = append(names, parse.QuoteName(constText(f)))
	}
	return strings.Join(names, ".")
}

// run makes a job of the statement and waits for its model.
//
// Outside a transaction block the job is the cluster's: it outlives this node,
// and its model is committed by whoever drives it. Inside one the job is
// attached to the session, sees what the transaction has done so far, and its
// model becomes part of the transaction.
func (t *training) run(ctx context.Context, x *execution) (*result, error) {
	s := t.s
	if err := s.writable("TRAIN MODEL"); err != nil {
		return nil, err
	}
	st, err := x.view()
	if err != nil {
		return nil, err
	}
	schema, old, err := t.place(st)
	if err != nil {
		return nil, err
	}
	if old != nil && t.n.IfNotExists {
		s.notice(pgerr.New(pgerr.DuplicateObject, "model %q already exists, skipping", old.Name).WithSeverity(pgerr.SevNotice))
		return rowsOf(trainColumns(), nil, "TRAIN MODEL")
	}
	p, err := t.bind(x.ctx, st, x.ptypes)
	if err != nil {
		return nil, err
	}
	// The job may begin later, on another node: who may not is told now.
	if err := plan.Authorize(st, s.role, p.uses()); err != nil {
		return nil, err
	}
	name := t.n.Name[len(t.n.Name)-1]
	now := time.Now().UTC()
	job := &catalog.Job{Schema: schema, Model: name, Owner: s.role, Session: s.forJob(x), Statement: t.st.Text, State: catalog.JobRunning,
		Attached: s.tx.explicit || len(s.tx.changes) > 0, MaxIterations: p.job.MaxIterations(), Epoch: 1, CreatedAt: now, UpdatedAt: now, Phase: "read"}
	if old != nil {
		job.Replace = old.Version
	}
	for _, u := range p.uses() {
		job.Tables = append(job.Tables, u.OID)
	}
	var v *catalog.ModelVersion
	if job.Attached {
		v, err = t.attached(ctx, x, st, old, job, p)
	} else {
		v, err = s.detached(ctx, job)
	}
	if err != nil {
		return nil, err
	}
	t.warn(v)
	return trainRow(st.Schema(schema), name, v, "TRAIN MODEL")
}

// warn tells of a model that may be worth less than it could be.
func (t *training) warn(v *catalog.ModelVersion) {
	for _, w := range v.Warnings {
		t.s.notice(pgerr.New(pgerr.Warning, "%s", w.Message).WithSeverity(pgerr.SevWarning).WithHint("%s", w.Hint))
	}
	if v.Converged {
		return
	}
	t.s.notice(pgerr.New(pgerr.Warning, "the training of model %q did not converge in %d iterations", t.n.Name[len(t.n.Name)-1], v.Iterations).
		WithSeverity(pgerr.SevWarning).WithHint("Raise max_iterations, standardize the features, or add a penalty."))
}

// trainRow is the row that a training returns.
func trainRow(sc *catalog.Schema, name string, v *catalog.ModelVersion, tag string) (*result, error) {
	if sc != nil {
		name = sc.Name + "." + name
	}
	var loss types.Datum // NULL where the algorithm has none
	if !math.IsNaN(v.TrainLoss) {
		loss = v.TrainLoss
	}
	row := []types.Datum{name, int64(v.Number), v.Algorithm, v.Rows, int64(len(v.Features)), int64(v.Iterations), loss, metricsJSON(v.Metrics), v.Seconds}
	return rowsOf(trainColumns(), [][]types.Datum{row}, tag)
}

// attached trains for the session's transaction.
func (t *training) attached(ctx context.Context, x *execution, st *catalog.State, old *catalog.Model, job *catalog.Job, p *trainPlan) (*catalog.ModelVersion, error) {
	res, err := t.inSession(ctx, x, st, job, p)
	if err != nil {
		return nil, err
	}
	m, v, err := t.version(ctx, job, old, p, res)
	if err != nil {
		return nil, err
	}
	_, err = t.s.tx.add(m)
	return v, err
}

// inSession drives a job of the session, whose record ends with it.
func (t *training) inSession(ctx context.Context, x *execution, st *catalog.State, job *catalog.Job, p *trainPlan) (*train.Result, error) {
	e := t.s.engine
	job.Coordinator = e.cfg.Node.ID
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	if job.OID, err = e.newOID(ctx); err != nil {
		return nil, err
	}
	leave := e.jobs.attach(job.OID, cancel)
	defer leave()
	if err := e.putJob(ctx, job); err != nil {
		return nil, err
	}
	rec := newJobRecord(e, job, t.s)
	res, err := t.drive(ctx, x, st, p, rec)
	rec.drop()
	return res, cause(ctx, err)
}

// place finds the schema of the model and the model that is there already.
func (t *training) place(st *catalog.State) (types.OID, *catalog.Model, error) {
	s := t.s
	var sc *catalog.Schema
	schema, _, err := catalog.ObjectName(t.n.Name...)
	if err != nil {
		return 0, nil, pgerr.From(err).At(t.n.NamePos)
	}
	if schema != "" {
		if sc = st.SchemaByName(schema); sc == nil {
			return 0, nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", schema).At(t.n.NamePos)
		}
	} else {
		for _, p := range s.path(st) {
			if p.OID != s.temp {
				sc = p
				break
			}
		}
		if sc == nil {
			return 0, nil, pgerr.New(pgerr.InvalidSchemaName, "no schema has been selected to create in").At(t.n.NamePos)
		}
	}
	if sc.OID < types.FirstUserOID && sc.OID != catalog.PublicOID {
		return 0, nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	m := st.Model(sc.OID, t.n.Name[len(t.n.Name)-1])
	if m == nil && !st.May(s.role, sc.Object(), 'C') {
		return 0, nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	switch {
	case m == nil && t.retrain:
		return 0, nil, pgerr.New(pgerr.UndefinedObject, "model \"%s\" does not exist", dotted(t.n.Name)).At(t.n.NamePos)
	case m != nil && !t.n.OrReplace && !t.n.IfNotExists:
		return 0, nil, pgerr.New(pgerr.DuplicateObject, "model %q already exists", m.Name).At(t.n.NamePos).
			WithHint("Use TRAIN OR REPLACE MODEL to add a version, or DROP MODEL first.")
	case m != nil && !t.n.IfNotExists:
		if err := s.mayModel(st, m); err != nil {
			return 0, nil, err
		}
	}
	return sc.OID, m, nil
}

// version makes the change that puts the model, or its next version, into the
// catalog.
func (t *training) version(ctx context.Context, rec *catalog.Job, old *catalog.Model, p *trainPlan, res *train.Result) (*catalog.PutModel, *catalog.ModelVersion, error) {
	v := catalog.ModelVersion{Number: 1, Algorithm: res.Model.Algorithm, Task: string(res.Model.Task), Converged: res.Converged, Stopped: res.Stopped,
		Rows: res.Rows, Iterations: res.Iterations, TrainLoss: res.TrainLoss, Seconds: res.Seconds, SHA256: res.SHA256, Bytes: res.Bytes,
		Statement: t.st.Text, CreatedAt: time.Now().UTC()}
	if c := p.job.Target(); c != nil {
		v.Target, v.TargetType = []string{c.Name}, c.Type
	}
	for _, o := range res.Model.Columns() {
		v.Outputs = append(v.Outputs, catalog.ModelFeature{Name: o.Name, Type: o.Type})
	}
	features := func(cols []dataset.Column) (out []catalog.ModelFeature) {
		for _, c := range cols {
			out = append(out, catalog.ModelFeature{Name: c.Name, Type: c.Type})
		}
		return out
	}
	v.Features = features(p.job.Features())
	if w := res.Model.Windows; w != nil {
		v.Windows = &catalog.ModelWindows{PartitionBy: features(w.PartitionBy), OrderBy: features(w.OrderBy), Length: w.Length, Stride: w.Stride}
	}
	if p.transform != nil {
		p.transform.describe(&v)
	}
	for _, m := range res.Metrics {
		v.Metrics = append(v.Metrics, catalog.NamedValue{Name: m.Name, Value: m.Value})
	}
	for _, o := range t.n.Options {
		v.Options = append(v.Options, catalog.NamedText{Name: o.Name, Value: o.Text})
	}
	for _, h := range res.History {
		v.History = append(v.History, catalog.Iteration{Number: h.Number, TrainLoss: h.TrainLoss, ValidationLoss: h.ValidationLoss, Seconds: h.Seconds})
	}
	v.Classes = res.Model.Classes()
	for _, w := range res.Warnings {
		v.Warnings = append(v.Warnings, catalog.ModelWarning(w))
	}
	m := &catalog.Model{Schema: rec.Schema, Name: rec.Model, Owner: rec.Owner}
	var expect uint64
	if old != nil {
		up := *old
		m, expect = &up, old.Version
		v.Number = old.Next()
	} else {
		oid, err := t.s.engine.newOID(ctx)
		if err != nil {
			return nil, nil, err
		}
		m.OID, m.ACL = oid, t.s.engine.cfg.Meta.Current().NewACL(catalog.ClassModel, rec.Owner, rec.Schema)
	}
	m.Versions = append(slices.Clone(m.Versions), v)
	m.Default, m.Last = v.Number, v.Number
	return &catalog.PutModel{Model: m, ExpectVersion: expect}, &v, nil
}

func metricsJSON(ms []catalog.NamedValue) string {
	var b strings.Builder
	b.WriteByte('{')
	sorted := slices.Clone(ms)
	slices.SortFunc(sorted, func(a, c catalog.NamedValue) int {
		if len(a.Name) != len(c.Name) {
			return len(a.Name) - len(c.Name)
		}
		return strings.Compare(a.Name, c.Name)
	})
	for i, m := range sorted {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q: %g", m.Name, m.Value)
	}
	b.WriteByte('}')
	return b.String()
}
