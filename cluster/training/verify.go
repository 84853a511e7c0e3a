package training

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Verifying is a VERIFY MODEL that a session runs.
type Verifying struct {
	Model   *catalog.Model
	Version *catalog.ModelVersion
	Text    string         // the statement's
	State   *catalog.State // of now
	Caller  *query.Caller
	Notice  func(*pgerr.Error)
	// Was returns the state of a version, and Past that of a time, as they may be read now. Their files stay until the
	// statement ends.
	Was  func(ctx context.Context, version uint64) (*catalog.State, error)
	Past func(at time.Time) (*catalog.State, error)
}

// Verification is what training a version again has shown.
type Verification struct {
	Found    [32]byte // the hash of the new model
	Trained  bool     // or else there is none
	Verified bool     // it is the recorded one
	Over     string   // the rows that were trained on
	Changed  []string // the tables that are not as they were
	Differs  []string // what of the new model is not as recorded
	Reason   string   // why it is not verified
}

// What a verification trains on.
const (
	overSnapshot = "snapshot"
	overNow      = "current rows"
)

// VerifyColumns returns the columns of the row that VERIFY MODEL returns.
func VerifyColumns() (cols []plan.Column) {
	texts, _ := types.ArrayOf(types.Text)
	for i, c := range []struct {
		name string
		typ  types.Type
	}{{"model", types.Text}, {"version", types.Int4}, {"verified", types.Bool}, {"recorded_sha256", types.Text}, {"found_sha256", types.Text},
		{"trained_over", types.Text}, {"changed_tables", texts}, {"differences", texts}, {"reason", types.Text}} {
		cols = append(cols, plan.Column{ID: expr.ColID(i + 1), Name: c.name, Type: c.typ})
	}
	return cols
}

// Row returns that row.
func (o *Verification) Row(q *Verifying) []types.Datum {
	row := []types.Datum{q.State.Schema(q.Model.Schema).Name + "." + q.Model.Name, int64(q.Version.Number), o.Verified, fmt.Sprintf("%x", q.Version.SHA256), nil, nil, texts(o.Changed), texts(o.Differs), nil}
	if o.Trained {
		row[4], row[5] = fmt.Sprintf("%x", o.Found), o.Over
	}
	if o.Reason != "" {
		row[8] = o.Reason
	}
	return row
}

func texts(list []string) types.Array {
	out := types.Array{Elem: types.Text}
	for _, s := range list {
		out.Elems = append(out.Elems, s)
	}
	return out
}

// again is a version's training, planned over a state.
type again struct {
	Statement
	caller *query.Caller
	plan   *Plan
}

// Verify trains a version again, from its statement and in the session's settings that were recorded with it, and compares
// the models. It trains over the snapshot that the version was trained on: the state of then, or where that is not
// known any more the tables of now, if they have not been written since. Else it trains over the rows as they are: the
// same model proves as much, and of another one it is said which tables have changed. The job is the session's,
// and makes no version.
func (j *Jobs) Verify(ctx context.Context, q *Verifying) (*Verification, error) {
	v, out := q.Version, &Verification{Over: overSnapshot}
	var a *again
	if s := v.Snapshot; s != nil {
		if then, err := q.Was(ctx, s.Version); err == nil {
			if a, err = q.again(ctx, j, then); err != nil || changed(s, a.plan.State) != nil {
				a = nil
			}
		}
	}
	if a == nil {
		var err error
		a, err = q.again(ctx, j, q.State)
		st := q.State
		if err == nil {
			st = a.plan.State
		}
		if out.Changed = changed(v.Snapshot, st); out.Changed != nil || v.Snapshot == nil {
			out.Over = overNow
		}
		if err != nil {
			return out, q.fails(out, err)
		}
	}
	base, reason := q.base(a.plan.Job)
	if out.Reason = reason; reason != "" {
		return out, nil
	}
	return out, q.compare(ctx, j, a, base, out)
}

// again plans the training over a state.
func (q *Verifying) again(ctx context.Context, j *Jobs, st *catalog.State) (*again, error) {
	c, err := q.caller(j, st)
	if err != nil {
		return nil, err
	}
	text, err := parse.One(q.Version.Statement, c.Dialect)
	if err != nil {
		return nil, err
	}
	n, ok := text.Extension.(*parse.TrainModel)
	if !ok {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model %q was not trained here", q.Model.Name)
	}
	a := &again{Statement: Statement{Text: text, TrainModel: n}, caller: c}
	if a.plan, err = j.Plan(ctx, a.Statement, c, st); err != nil {
		return nil, err
	}
	return a, plan.Authorize(a.plan.State, c.Role, a.plan.uses())
}

// caller returns the caller of the training, as the role that verifies it. Of a version whose session was not recorded
// it has the settings of this one.
func (q *Verifying) caller(j *Jobs, st *catalog.State) (*query.Caller, error) {
	c := q.Caller.With(nil, nil)
	if o := q.Version.Origin; o != nil {
		job := &catalog.Job{Session: o.Session, Owner: q.Caller.Role, Statement: q.Text}
		was, h, err := j.restored(job, st)
		if err != nil {
			return nil, err
		}
		if c = was; st.Role(c.SessionUser) == nil {
			c.SessionUser = q.Caller.SessionUser
		}
		c.Temp = q.Caller.Temp
		h.enter(c, job)
		c.Host = &pastHost{h, q.Past}
	}
	c.KeepDatasets = false // what is proven is read
	return c, nil
}

// pastHost is the host of a training whose tables of the past are not recorded.
type pastHost struct {
	*host
	past func(at time.Time) (*catalog.State, error)
}

// Past implements query.Historian.
func (h *pastHost) Past(at time.Time) (*catalog.State, error) { return h.past(at) }

// fails says why a training could not be planned or run over the tables of now. It is an error where they are those of
// then. Errors of a statement quote its names and literals, which only the model's owner may see.
func (q *Verifying) fails(out *Verification, err error) error {
	e := pgerr.From(err)
	class := e.Code[:2]
	switch {
	case class != "42" && class != "22" || e.Code == pgerr.InsufficientPrivilege:
		return e.At(0)
	case !q.State.Inherits(q.Caller.Role, q.Model.Owner):
		return pgerr.New(e.Code, "model %q cannot be verified: its statement fails over the tables as they are now", q.Model.Name)
	case out.Changed == nil:
		return e.At(0)
	}
	out.Reason = "its statement fails over the tables as they are now: " + e.Message
	return nil
}

// base returns the version that the training went on from, nil for none; or why it cannot go on again.
func (q *Verifying) base(job *train.Job) (*catalog.ModelVersion, string) {
	o := q.Version.Origin
	switch {
	case !job.WarmStart() || o != nil && o.Parent == 0 || o == nil && q.Version.Number == 1:
		return nil, ""
	case o == nil:
		return nil, "the version from which its warm start went on was not recorded"
	}
	if v := q.Model.Find(o.Parent); v != nil {
		return v, ""
	}
	return nil, fmt.Sprintf("version %d, from which its warm start went on, was dropped", o.Parent)
}

// compare trains, and compares the models.
func (q *Verifying) compare(ctx context.Context, j *Jobs, a *again, base *catalog.ModelVersion, out *Verification) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := j.cfg.Queries.Begin(a.caller, 0, func(err error) { cancel(err) })
	defer func() {
		if leaked := x.End(); leaked > 0 {
			j.cfg.Log.Warn("BUG: a verification ended with charged memory", "query", x.ID, "bytes", leaked)
		}
	}()
	r := &Request{Statement: a.Statement, Run: x, State: a.plan.State, Notice: q.Notice, base: base}
	job := r.job(a.plan)
	job.Schema, job.Model, job.Statement, job.Verify, job.Attached = q.Model.Schema, q.Model.Name, q.Text, q.Version.Number, true
	job.Tables, job.Past, job.Reads = nil, nil, nil // the session's transaction keeps their files
	d, err := j.inSession(ctx, r, job, a.plan, nil)
	if err != nil {
		if ctx.Err() != nil {
			return pgerr.From(err).At(0)
		}
		return q.fails(out, err)
	}
	defer d.rec.close()
	made := d.version(job, d.result, d.rec.models[0])
	made.Groups = d.groups
	out.Trained, out.Found = true, made.SHA256
	// A version may have the model of another trial than the best.
	if out.Verified = slices.ContainsFunc(d.rec.models, func(m *catalog.Segment) bool { return m.SHA256 == q.Version.SHA256 }); out.Verified {
		out.Found = q.Version.SHA256
		return nil
	}
	out.Differs = differences(q.Version, made)
	out.Reason = q.reason(j, out, d)
	return nil
}

// reason says why a training over its rows, or those of now, has made another model.
func (q *Verifying) reason(j *Jobs, out *Verification, d *drive) string {
	v := q.Version
	cancelled := false
	if s := v.Search; s != nil {
		cancelled = slices.ContainsFunc(s.Trials, func(t catalog.ModelTrial) bool { return t.State == string(train.TrialCancelled) })
	}
	switch {
	case out.Changed != nil:
		return "the rows that it was trained on are kept no longer, and tables have changed since"
	case d.chance:
		return "its query reads more than tables, such as files, or calls functions whose results are not the same each time"
	case d.chooses:
		return "its query leaves out rows by LIMIT, and if ORDER BY does not tell all rows apart, others each time"
	case cancelled:
		return "a trial of its search was cancelled"
	case v.Origin == nil:
		return "the settings of the session that trained it were not recorded"
	case v.Origin.Build != j.cfg.Build:
		return "it was trained by version " + v.Origin.Build + " of the program, and this is version " + j.cfg.Build
	}
	return "the same statement over the same rows has made another model"
}

// changed lists the tables of a snapshot that are not as they were, with what is known of that.
func changed(s *catalog.ModelSnapshot, st *catalog.State) (out []string) {
	if s == nil {
		return nil
	}
	for _, t := range s.Tables {
		r, name := st.RelationByOID(t.OID), lex.QuoteName(t.Schema)+"."+lex.QuoteName(t.Name)
		if sc := st.SchemaByName(t.Schema); r == nil && sc != nil {
			r = st.Relation(sc.OID, t.Name)
		}
		if r == nil || st.Manifest(r.OID) == nil {
			out = append(out, name+" is gone")
			continue
		}
		switch m := st.Manifest(r.OID); {
		case m.Digest() == t.Digest:
		case m.Rows() != t.Rows:
			out = append(out, fmt.Sprintf("%s had %d rows and has %d", name, t.Rows, m.Rows()))
		default:
			out = append(out, name+" has been written since")
		}
	}
	return out
}

// differences lists what two versions say differently of themselves.
func differences(was, now *catalog.ModelVersion) (out []string) {
	number := func(name string, a, b float64) {
		if a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			out = append(out, name+" was "+strconv.FormatFloat(a, 'g', -1, 64)+" and is "+strconv.FormatFloat(b, 'g', -1, 64))
		}
	}
	number("rows", float64(was.Rows), float64(now.Rows))
	number("features", float64(len(was.Features)), float64(len(now.Features)))
	number("classes", float64(len(was.Classes)), float64(len(now.Classes)))
	number("iterations", float64(was.Iterations), float64(now.Iterations))
	number("train_loss", was.TrainLoss, now.TrainLoss)
	for _, m := range was.Metrics {
		if at := slices.IndexFunc(now.Metrics, func(n catalog.NamedValue) bool { return n.Name == m.Name }); at >= 0 {
			number(m.Name, m.Value, now.Metrics[at].Value)
		}
	}
	return out
}
