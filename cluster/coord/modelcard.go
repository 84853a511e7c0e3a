package coord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// modelDocument is what is known of a version, for people and for programs. Statement and Data are the owner's alone, as in ml.models.
type modelDocument struct {
	Model      string              `json:"model"`
	Version    int                 `json:"version"`
	Default    bool                `json:"default"`
	Aliases    []string            `json:"aliases,omitempty"`
	Comment    string              `json:"comment,omitempty"`
	Algorithm  string              `json:"algorithm"`
	Task       string              `json:"task"`
	SHA256     string              `json:"sha256"`
	CreatedAt  time.Time           `json:"created_at"`
	TrainedBy  string              `json:"trained_by,omitempty"`
	Build      string              `json:"build,omitempty"`
	Parent     int                 `json:"parent_version,omitempty"`
	Rows       int64               `json:"rows"`
	Iterations int                 `json:"iterations"`
	TrainLoss  *float64            `json:"train_loss,omitempty"`
	Converged  bool                `json:"converged"`
	Stopped    string              `json:"stopped,omitempty"`
	Seconds    *float64            `json:"seconds,omitempty"`
	Statement  string              `json:"statement,omitempty"`
	Options    []documentOption    `json:"options"`
	Data       *documentData       `json:"data,omitempty"`
	Targets    []documentColumn    `json:"targets"`
	Features   []documentColumn    `json:"features"`
	Inputs     []documentInput     `json:"transform,omitempty"`
	Groups     *documentGroups     `json:"groups,omitempty"`
	Metrics    []documentMetric    `json:"metrics"`
	Importance []featureImportance `json:"importance,omitempty"`
	Limits     []string            `json:"limits"`
}

type documentOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type documentMetric struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
}

type documentColumn struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Classes []string `json:"classes,omitempty"`
}

type documentInput struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

type documentGroups struct {
	By     []documentColumn `json:"by"`
	Total  int64            `json:"total"`
	Failed int64            `json:"failed"`
}

type documentData struct {
	Version uint64          `json:"version"`
	At      time.Time       `json:"at"`
	Tables  []documentTable `json:"tables"`
}

type documentTable struct {
	Table   string   `json:"table"`
	Rows    int64    `json:"rows"`
	Version uint64   `json:"version"`
	Digest  string   `json:"digest"`
	Columns []string `json:"columns,omitempty"`
}

// featureImportance is a row of ml.feature_importance: the gain where the model has one, and else the weight.
type featureImportance struct {
	Feature    string  `json:"feature"`
	Target     string  `json:"target,omitempty"`
	Importance float64 `json:"importance"`
}

// documentOf describes a version.
func documentOf(ctx context.Context, c *dispatcher, x *session.Execution, st *catalog.State, m *catalog.Model, v *catalog.ModelVersion) (*modelDocument, error) {
	d := &modelDocument{Model: st.Schema(m.Schema).Name + "." + m.Name, Version: v.Number, Default: v.Number == m.Default, Aliases: m.AliasesOf(v.Number),
		Comment: st.Comment(catalog.Dep{OID: m.OID}), Algorithm: v.Algorithm, Task: v.Task, SHA256: fmt.Sprintf("%x", v.SHA256), CreatedAt: v.CreatedAt.UTC(),
		Rows: v.Rows, Iterations: v.Iterations, TrainLoss: finite(v.TrainLoss), Converged: v.Converged, Stopped: v.Stopped, Seconds: finite(v.Seconds),
		Options: []documentOption{}, Targets: []documentColumn{}, Features: documentColumns(st, v.Features), Metrics: []documentMetric{}, Limits: limitsOf(v)}
	if o := v.Origin; o != nil {
		d.TrainedBy, d.Build, d.Parent = o.By, o.Build, o.Parent
	}
	for _, o := range v.Options {
		d.Options = append(d.Options, documentOption(o))
	}
	for _, k := range v.Metrics {
		d.Metrics = append(d.Metrics, documentMetric{k.Name, finite(k.Value)})
	}
	for i := range v.Target {
		p := v
		if len(v.Target) > 1 {
			p = v.Part(i)
		}
		d.Targets = append(d.Targets, documentColumn{v.Target[i], st.TypeName(p.TargetType), p.Classes})
	}
	for _, in := range v.Inputs {
		d.Inputs = append(d.Inputs, documentInput{in.Name, in.Expr})
	}
	if g := v.Groups; g != nil {
		d.Groups = &documentGroups{By: []documentColumn{}, Total: g.Total, Failed: g.Failed}
		for _, k := range g.By {
			d.Groups.By = append(d.Groups.By, documentColumn{Name: k.Name, Type: st.TypeName(k.Type)})
		}
	}
	if st.Inherits(x.Caller.Role, m.Owner) {
		d.Statement = v.Statement
		if s := v.Snapshot; s != nil {
			d.Data = &documentData{Version: s.Version, At: s.At.UTC(), Tables: []documentTable{}}
			for _, t := range s.Tables {
				d.Data.Tables = append(d.Data.Tables, documentTable{lex.QuoteName(t.Schema) + "." + lex.QuoteName(t.Name), t.Rows, t.Version, fmt.Sprintf("%x", t.Digest), t.Columns})
			}
		}
	}
	if v.Groups == nil {
		var err error
		d.Importance, err = importance(ctx, c, x, st, m, v)
		return d, err
	}
	return d, nil
}

func documentColumns(st *catalog.State, list []catalog.ModelFeature) []documentColumn {
	out := []documentColumn{}
	for _, f := range list {
		out = append(out, documentColumn{Name: f.Name, Type: st.TypeName(f.Type)})
	}
	return out
}

func finite(f float64) *float64 {
	if types.FiniteOrNull(f) == nil {
		return nil
	}
	return &f
}

// importance reads which features a model goes by; nil where models of its family do not say.
func importance(ctx context.Context, c *dispatcher, x *session.Execution, st *catalog.State, m *catalog.Model, v *catalog.ModelVersion) ([]featureImportance, error) {
	name := lex.QuoteIdent(st.Schema(m.Schema).Name) + "." + lex.QuoteIdent(m.Name) + "@" + strconv.Itoa(v.Number)
	text, err := parse.One("SELECT feature, coalesce(target, ''), coalesce(importance_gain, importance_weight) FROM ml.feature_importance("+lex.QuoteLiteral(name)+") WHERE coalesce(importance_gain, importance_weight) IS NOT NULL", parse.Postgres)
	if err != nil {
		return nil, err
	}
	q, err := c.query(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	res, err := q.Run(ctx, x)
	if err != nil {
		return nil, noImportance(err)
	}
	rows, err := allRows(ctx, res, q.Columns)
	if err != nil {
		return nil, noImportance(err)
	}
	var out []featureImportance
	for _, r := range rows {
		out = append(out, featureImportance{Feature: r[0].(string), Target: r[1].(string), Importance: r[2].(float64)})
	}
	return out, nil
}

func noImportance(err error) error {
	if pgerr.CodeOf(err) == pgerr.WrongObjectType {
		return nil
	}
	return err
}

// limitsOf lists what a user of a version should heed.
func limitsOf(v *catalog.ModelVersion) []string {
	out := []string{}
	for _, w := range v.Warnings {
		out = append(out, strings.TrimSpace(w.Message+". "+w.Hint))
	}
	if !v.Converged && v.Groups == nil {
		out = append(out, fmt.Sprintf("The training did not converge: it ended after %d iterations, by %s.", v.Iterations, v.Stopped))
	}
	if len(v.Classes) > 0 {
		out = append(out, "It predicts no other class than those of its training rows.")
	}
	if g := v.Groups; g != nil {
		if g.Failed > 0 {
			out = append(out, fmt.Sprintf("%d of %d groups have no model.", g.Failed, g.Total))
		}
		out = append(out, map[string]string{catalog.UnknownNull: "Of a group without a model NULL is predicted.", catalog.UnknownError: "Of a group without a model nothing is predicted: it is an error.",
			catalog.UnknownPooled: "Of a group without a model the model of all rows predicts."}[g.Unknown])
	}
	if v.Snapshot == nil {
		out = append(out, "It is not known which rows it was trained on.")
	}
	return out
}

func (d *modelDocument) json() (string, error) {
	b, err := json.MarshalIndent(d, "", "  ")
	return string(b), err
}

// markdown writes the card.
func (d *modelDocument) markdown() string {
	var b strings.Builder
	title := fmt.Sprintf("# %s, version %d", d.Model, d.Version)
	names := d.Aliases
	if d.Default {
		names = append([]string{"default"}, names...)
	}
	if names != nil {
		title += " (" + strings.Join(names, ", ") + ")"
	}
	b.WriteString(title + "\n")
	if d.Comment != "" {
		b.WriteString("\n" + d.Comment + "\n")
	}
	row := func(cells ...string) {
		for _, c := range cells {
			b.WriteString("| " + inCell.Replace(c) + " ")
		}
		b.WriteString("|\n")
	}
	table := func(heads ...string) {
		b.WriteByte('\n')
		row(heads...)
		b.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
	}
	section := func(name string) { b.WriteString("\n## " + name + "\n") }

	table("", "")
	row("algorithm", d.Algorithm)
	row("task", d.Task)
	for _, t := range d.Targets {
		what := t.Name + " " + t.Type
		if t.Classes != nil {
			what += ", of the classes " + strings.Join(t.Classes, ", ")
		}
		row("target", what)
	}
	if g := d.Groups; g != nil {
		var by []string
		for _, k := range g.By {
			by = append(by, k.Name+" "+k.Type)
		}
		row("one model a group of", strings.Join(by, ", "))
		row("groups", fmt.Sprintf("%d, of which %d failed", g.Total, g.Failed))
	}
	row("rows", strconv.FormatInt(d.Rows, 10))
	row("iterations", strconv.Itoa(d.Iterations)+", until "+cmp.Or(d.Stopped, "the last"))
	row("trained", d.CreatedAt.Format("2006-01-02 15:04:05Z07:00"))
	if d.TrainedBy != "" {
		row("by", d.TrainedBy)
	}
	if d.Build != "" {
		row("program", d.Build)
	}
	if d.Parent != 0 {
		row("goes on from", "version "+strconv.Itoa(d.Parent))
	}
	row("sha256", d.SHA256)

	if d.Statement != "" {
		section("Statement")
		fence := "```"
		for strings.Contains(d.Statement, fence) {
			fence += "`"
		}
		b.WriteString("\n" + fence + "sql\n" + d.Statement + "\n" + fence + "\n")
	}
	if d.Data != nil {
		section("Data")
		b.WriteString(fmt.Sprintf("\nVersion %d of the database, %s.\n", d.Data.Version, d.Data.At.Format("2006-01-02 15:04:05Z07:00")))
		if len(d.Data.Tables) > 0 {
			table("table", "columns", "rows", "version", "digest")
			for _, t := range d.Data.Tables {
				row(t.Table, strings.Join(t.Columns, ", "), strconv.FormatInt(t.Rows, 10), strconv.FormatUint(t.Version, 10), t.Digest)
			}
		}
	}
	section("Features")
	table("feature", "type")
	for _, f := range d.Features {
		row(f.Name, f.Type)
	}
	if d.Inputs != nil {
		table("computed", "of")
		for _, in := range d.Inputs {
			row(in.Name, in.Expression)
		}
	}
	if d.Importance != nil {
		section("Importance")
		table("feature", "importance")
		for _, f := range d.Importance {
			name := f.Feature
			if f.Target != "" && len(d.Targets) > 1 {
				name += " for " + f.Target
			}
			row(name, strconv.FormatFloat(f.Importance, 'g', 6, 64))
		}
	}
	section("Metrics")
	table("metric", "value")
	shown := func(name string, f *float64) {
		if f != nil {
			row(name, strconv.FormatFloat(*f, 'g', 6, 64))
		}
	}
	shown("train_loss", d.TrainLoss)
	for _, m := range d.Metrics {
		shown(m.Name, m.Value)
	}
	if len(d.Options) > 0 {
		section("Options")
		table("option", "value")
		for _, o := range d.Options {
			row(o.Name, o.Value)
		}
	}
	if len(d.Limits) > 0 {
		section("Limits")
		b.WriteByte('\n')
		for _, l := range d.Limits {
			b.WriteString("- " + strings.ReplaceAll(l, "\n", " ") + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// inCell keeps a text within its cell.
var inCell = strings.NewReplacer("\n", " ", "|", "\\|")
