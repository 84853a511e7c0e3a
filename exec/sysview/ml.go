package sysview

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func metricsJSON(ms []catalog.NamedValue) any {
	if len(ms) == 0 {
		return nil
	}
	return MetricsJSON(ms)
}

// MetricsJSON returns metrics as a JSON object; those that are not finite are null.
func MetricsJSON(ms []catalog.NamedValue) string {
	keys, vals := []string{}, []json.Value{}
	for _, m := range ms {
		v := json.Value{} // null
		if f, ok := types.FiniteOrNull(m.Value).(float64); ok {
			// The shortest text that reads back as the same number.
			if d, err := number.ParseDecimal(strconv.FormatFloat(f, 'g', -1, 64)); err == nil {
				v = json.NumberOf(d)
			}
		}
		keys, vals = append(keys, m.Name), append(vals, v)
	}
	return json.ObjectOf(keys, vals).String()
}

func optionsJSON(opts []catalog.NamedText) any {
	if len(opts) == 0 {
		return nil
	}
	keys, vals := []string{}, []json.Value{}
	for _, o := range opts {
		keys, vals = append(keys, o.Name), append(vals, json.StringOf(o.Value))
	}
	return json.ObjectOf(keys, vals).String()
}

func features(m *catalog.ModelVersion) []string {
	out := []string{}
	for _, f := range m.Features {
		out = append(out, f.Name)
	}
	return out
}

// seesModel reports whether the current role may see a model.
func (v *view) seesModel(m *catalog.Model) bool { return v.may(m.Object(), "U") }

// statement is the text that trained a version, for the model's owner only: it names tables.
func (v *view) statement(m *catalog.Model, x *catalog.ModelVersion) any {
	if !v.owns(m.Owner) {
		return nil
	}
	return x.Statement
}

// snapshot is what a version was trained on as JSON, for the model's owner only, as the statement is.
func (v *view) snapshot(m *catalog.Model, x *catalog.ModelVersion) any {
	s := x.Snapshot
	if s == nil || !v.owns(m.Owner) {
		return nil
	}
	number := func(n int64) json.Value { return json.NumberOf(number.DecimalFromInt64(n, 0)) }
	tables := []json.Value{}
	for _, t := range s.Tables {
		tables = append(tables, json.ObjectOf([]string{"schema", "table", "version", "rows", "digest"}, []json.Value{
			json.StringOf(t.Schema), json.StringOf(t.Name), number(int64(t.Version)), number(t.Rows), json.StringOf(hex.EncodeToString(t.Digest[:]))}))
	}
	return json.ObjectOf([]string{"version", "at", "tables"}, []json.Value{
		number(int64(s.Version)), json.StringOf(s.At.UTC().Format(time.RFC3339Nano)), json.ArrayOf(tables)}).String()
}

func mlModels(v *view, put put) error {
	for _, m := range v.st.Models() {
		x := m.Find(0)
		if x == nil || !v.seesModel(m) {
			continue
		}
		err := put(m.Name, x.Number, x.Algorithm, text(strings.Join(x.Target, ", ")), features(x), x.Rows, x.Iterations, types.FiniteOrNull(x.TrainLoss),
			metricsJSON(x.Metrics), types.FiniteOrNull(x.Seconds), hex.EncodeToString(x.SHA256[:]), modelBytes(x), v.schemaName(m.Schema), v.roleName(m.Owner),
			len(m.Versions), optionsJSON(x.Options), v.statement(m, x), x.CreatedAt, x.Task, x.Converged, text(x.Stopped), m.OID, text(v.st.Comment(catalog.Dep{OID: m.OID})), v.snapshot(m, x), aliasesJSON(m))
		if err != nil {
			return err
		}
	}
	return nil
}

// modelBytes returns the size of a model.
func modelBytes(x *catalog.ModelVersion) any { return orNull(x.Blob().Bytes) }

func mlModelVersions(v *view, put put) error {
	return v.versions(func(m *catalog.Model, x *catalog.ModelVersion) error {
		return put(m.Name, x.Number, x.Number == m.Default, x.Algorithm, text(strings.Join(x.Target, ", ")), features(x), x.Rows, x.Iterations,
			types.FiniteOrNull(x.TrainLoss), metricsJSON(x.Metrics), types.FiniteOrNull(x.Seconds), hex.EncodeToString(x.SHA256[:]), modelBytes(x),
			v.schemaName(m.Schema), v.roleName(m.Owner), optionsJSON(x.Options), v.statement(m, x), x.CreatedAt, x.Task, x.Converged, text(x.Stopped), v.snapshot(m, x), append([]string{}, m.AliasesOf(x.Number)...))
	})
}

// aliasesJSON returns the names of a model's versions with their numbers.
func aliasesJSON(m *catalog.Model) any {
	if len(m.Aliases) == 0 {
		return nil
	}
	keys, vals := []string{}, []json.Value{}
	for _, a := range m.Aliases {
		keys, vals = append(keys, a.Name), append(vals, json.NumberOf(number.DecimalFromInt64(int64(a.Number), 0)))
	}
	return json.ObjectOf(keys, vals).String()
}

// mlModelLineage lists what each version was made of, a row a table: for the model's owner, as the statement is.
func mlModelLineage(v *view, put put) error {
	return v.versions(func(m *catalog.Model, x *catalog.ModelVersion) error {
		if !v.owns(m.Owner) {
			return nil
		}
		version := []any{m.Name, v.schemaName(m.Schema), x.Number}
		var by, build, parent any
		if o := x.Origin; o != nil {
			by, build, parent = text(o.By), text(o.Build), orNull(o.Parent)
		}
		var at, of any
		tables := []catalog.ModelTable{{}}
		if s := x.Snapshot; s != nil {
			at, of = s.At, int64(s.Version)
			if len(s.Tables) > 0 {
				tables = s.Tables
			}
		}
		made := []any{x.Statement, optionsJSON(x.Options), parent, build, by, x.CreatedAt, of, at, hex.EncodeToString(x.SHA256[:])}
		for _, t := range tables {
			read := []any{nil, nil, nil, nil, nil, nil}
			if t.Name != "" {
				read = []any{text(t.Schema), t.Name, append([]string{}, t.Columns...), t.Rows, int64(t.Version), hex.EncodeToString(t.Digest[:])}
			}
			if err := put(slices.Concat(version, read, made)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// mlTrials lists the trials of searches, those that run too, and the trainings of the
// folds of a cross-validation, all with the model's own options. Those of a model's groups are
// in its file, so they are listed where it is asked for by name.
func mlTrials(v *view, put put) error {
	trials := func(model string, schema types.OID, version, best int, list []catalog.ModelTrial, key ...any) error {
		for _, t := range list {
			folds := types.Array{Elem: types.Float8, Elems: make([]types.Datum, len(t.Folds))}
			for i, f := range t.Folds {
				folds.Elems[i] = f
			}
			err := put(append(slices.Clip(key), model, t.Number, optionsJSON(t.Args), types.FiniteOrNull(t.Objective), t.State, t.Iterations, types.FiniteOrNull(t.Seconds), v.schemaName(schema),
				version, nil, nil, nil, metricsJSON(t.Metrics), t.Number == best, t.Rung, folds, text(t.ErrorCode), text(t.Error), orNull(t.Version))...)
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := v.versions(func(m *catalog.Model, x *catalog.ModelVersion) error {
		if x.Groups != nil && x.Search == nil && len(v.args) > 0 {
			return v.host.ModelRows("trials", x, nil, func(r []types.Datum) error {
				of, _ := r[len(r)-1].([]byte)
				if of == nil {
					return nil
				}
				s, err := codec.Unmarshal[catalog.ModelSearch](of)
				if err != nil {
					return err
				}
				var key []any
				for _, k := range r[:len(r)-1] {
					key = append(key, k)
				}
				return trials(m.Name, m.Schema, x.Number, s.Best, s.Trials, key...)
			})
		}
		if s := x.Search; s != nil {
			return trials(m.Name, m.Schema, x.Number, s.Best, s.Trials)
		}
		for i, f := range x.Folds {
			err := put(m.Name, 1, optionsJSON(x.Options), nil, catalog.JobDone, f.Iterations, types.FiniteOrNull(f.Seconds), v.schemaName(m.Schema),
				x.Number, i+1, f.Rows, f.Held, metricsJSON(f.Metrics), nil, nil, nil, nil, nil, nil)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(v.args) > 0 {
		return err
	}
	return running(v, func(j *catalog.Job, version int) error { return trials(j.Model, j.Schema, version, 0, j.Trials) })
}

// running calls f with the jobs of the role's that make a version, and its number.
func running(v *view, f func(j *catalog.Job, version int) error) error {
	for _, j := range v.st.Jobs() {
		if j.State != catalog.JobRunning || j.Verify != 0 || !v.owns(j.Owner) {
			continue
		}
		version := 1
		if m := v.st.Model(j.Schema, j.Model); m != nil {
			version = m.Next()
		}
		if err := f(j, version); err != nil {
			return err
		}
	}
	return nil
}

// versions calls f with the version that the relation's arguments name, or else with all that the
// role may see.
func (v *view) versions(f func(m *catalog.Model, x *catalog.ModelVersion) error) error {
	if len(v.args) > 0 {
		m, x, err := v.version()
		if err != nil {
			return err
		}
		return f(m, x)
	}
	for _, m := range v.st.Models() {
		if !v.seesModel(m) {
			continue
		}
		for i := range m.Versions {
			if err := f(m, &m.Versions[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// version returns the version of a model that the relation's arguments name.
func (v *view) version() (*catalog.Model, *catalog.ModelVersion, error) {
	oid, _ := v.args[0].(int64)
	number, _ := v.args[1].(int64)
	m := v.st.ModelByOID(types.OID(oid))
	if m == nil { // dropped since the statement was planned
		return nil, nil, pgerr.New(pgerr.UndefinedObject, "model with OID %d does not exist", oid)
	}
	x, err := m.Want(int(number))
	return m, x, err
}

func mlTrainingHistory(v *view, put put) error {
	rows := func(model string, version int, schema types.OID, h []catalog.Iteration) error {
		for _, it := range h {
			err := put(model, version, it.Number, types.FiniteOrNull(it.TrainLoss), types.FiniteOrNull(it.ValidationLoss), types.FiniteOrNull(it.Seconds), v.schemaName(schema))
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := v.versions(func(m *catalog.Model, x *catalog.ModelVersion) error {
		return rows(m.Name, x.Number, m.Schema, x.History)
	})
	if err != nil || len(v.args) > 0 {
		return err
	}
	return running(v, func(j *catalog.Job, version int) error { return rows(j.Model, version, j.Schema, j.History) })
}

// recent returns the seconds that the latest iterations took each.
func recent(h []catalog.Iteration) float64 {
	h = h[max(0, len(h)-10):]
	sum := 0.0
	for _, it := range h {
		sum += it.Seconds
	}
	return sum / float64(len(h))
}

// mlTrainingJobs shows the progress of each training. The remaining time is for the maximum of
// iterations: it may end earlier.
func mlTrainingJobs(v *view, put put) error {
	for _, j := range v.st.Jobs() {
		if !v.owns(j.Owner) {
			continue
		}
		var rate, eta, loss, coordinator any
		if h := j.History; len(h) > 0 {
			loss = types.FiniteOrNull(h[len(h)-1].TrainLoss)
			if each := recent(h); each > 0 && j.State == catalog.JobRunning {
				rate = float64(j.Rows) / each
				if j.MaxIterations > j.Iteration {
					eta = time.Duration(float64(j.MaxIterations-j.Iteration) * each * float64(time.Second))
				}
			}
		}
		if n := v.st.Node(j.Coordinator); n != nil {
			coordinator = n.Name
		}
		err := put(j.OID, j.Model, v.schemaName(j.Schema), j.State, text(j.Phase), j.Iteration, j.Iteration, j.Rows, rate, eta, loss, coordinator,
			v.roleName(j.Owner), text(j.ErrorCode), text(j.Error), j.CreatedAt, j.UpdatedAt, j.Statement)
		if err != nil {
			return err
		}
	}
	return nil
}

// mlTrainingEvents lists what happened to each training.
func mlTrainingEvents(v *view, put put) error {
	for _, j := range v.st.Jobs() {
		if !v.owns(j.Owner) {
			continue
		}
		for _, m := range j.Marks {
			var at time.Time
			if m.Micros != 0 {
				at = time.UnixMicro(m.Micros)
			}
			if err := put(j.OID, j.Model, v.schemaName(j.Schema), at, m.Kind, m.Iteration, nodeName(v.st, m.Node), orNull(m.Bytes)); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeName is a node's name, nil for one that is gone.
func nodeName(st *catalog.State, id uint64) any {
	if n := st.Node(id); n != nil {
		return n.Name
	}
	return nil
}

// mlTrainingReductions lists the tree in which the nodes of each training merge their sums.
func mlTrainingReductions(v *view, put put) error {
	for _, j := range v.st.Jobs() {
		if !v.owns(j.Owner) {
			continue
		}
		for _, m := range j.Merges {
			if err := put(j.OID, j.Model, v.schemaName(j.Schema), m.Level, m.Index, nodeName(v.st, m.Node)); err != nil {
				return err
			}
		}
	}
	return nil
}

// modelRows produces the relations that show a model's contents and what may be trained, which only
// the packages above know.
func modelRows(v *view, put put) error {
	var x *catalog.ModelVersion
	if len(v.args) > 0 {
		var err error
		if _, x, err = v.version(); err != nil {
			return err
		}
	}
	var more []types.Datum
	if len(v.args) > 2 {
		more = v.args[2:]
	}
	// The rows are charged while they are made, since a model may be large.
	var acct *mem.Account
	if v.env != nil && v.env.Pool != nil {
		acct = v.env.Pool.Account("ml."+v.shape.name, false)
		defer acct.Close()
	}
	return v.host.ModelRows(v.shape.name, x, more, func(r []types.Datum) error {
		size := int64(0)
		cells := make([]any, len(r), len(v.shape.cols))
		for i, c := range r {
			cells[i] = c
			size += 16 + types.DatumBytes(c)
		}
		if len(cells) == len(v.shape.cols)-1 { // but for the target, of which there is one
			var target any
			if x != nil && len(x.Target) == 1 {
				target = x.Target[0]
			}
			cells = append(cells, target)
		}
		if acct != nil {
			if err := acct.Grow(size); err != nil {
				return err
			}
		}
		return put(cells...)
	})
}
