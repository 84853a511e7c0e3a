package coord

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// describeModel handles DESCRIBE MODEL: properties, a row each, or one document.
func (c *dispatcher) describeModel(n *parse.DescribeModel) (*session.Command, error) {
	cols := session.TextColumns("property", "value")
	switch n.As {
	case "card":
		cols = session.TextColumns("card")
	case "json":
		cols = session.TextColumns("json")
		cols[0].Type = types.JSON
	}
	return &session.Command{Columns: cols, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		st, err := x.View()
		if err != nil {
			return nil, err
		}
		m, err := c.findModel(st, n.Name)
		if err != nil {
			return nil, err
		}
		if err := mayUse(x, st, m); err != nil {
			return nil, err
		}
		v, err := m.Want(int(n.Version))
		if err != nil {
			return nil, err
		}
		if n.As != "" {
			d, err := documentOf(ctx, c, x, st, m, v)
			if err != nil {
				return nil, err
			}
			text := d.markdown()
			if n.As == "json" {
				if text, err = d.json(); err != nil {
					return nil, err
				}
			}
			return session.Table(cols, [][]types.Datum{{text}}, n.Tag())
		}
		var feats []string
		for _, f := range v.Features {
			feats = append(feats, f.Name+" "+st.TypeName(f.Type))
		}
		rows := [][]types.Datum{
			{"name", st.Schema(m.Schema).Name + "." + m.Name},
			{"version", fmt.Sprintf("%d of %d", v.Number, len(m.Versions))},
		}
		if names := m.AliasesOf(v.Number); names != nil {
			rows = append(rows, []types.Datum{"aliases", strings.Join(names, ", ")})
		}
		rows = append(rows, [][]types.Datum{
			{"algorithm", v.Algorithm},
			{"task", v.Task},
			{"features", strings.Join(feats, ", ")},
			{"rows", fmt.Sprint(v.Rows)},
			{"iterations", fmt.Sprint(v.Iterations)},
			{"train_loss", measured(v.TrainLoss)},
			{"stopped", v.Stopped},
		}...)
		rows = append(append(rows, targets(st, v)...), ofGroups(st, v)...)
		for _, in := range v.Inputs {
			rows = append(rows, []types.Datum{"transform " + in.Name, in.Expr})
		}
		for _, k := range v.Metrics {
			rows = append(rows, []types.Datum{k.Name, measured(k.Value)})
		}
		for _, o := range v.Options {
			rows = append(rows, []types.Datum{"option " + o.Name, o.Value})
		}
		if s := v.Search; s != nil {
			rows = append(rows, []types.Datum{"search", fmt.Sprintf("%s, %d trials by %s, of which %d is the best", s.Algorithm, len(s.Trials), s.Objective, s.Best)})
			for _, a := range s.Trials[s.Best-1].Args {
				rows = append(rows, []types.Datum{"chosen " + a.Name, a.Value})
			}
		}
		for _, w := range v.Warnings {
			rows = append(rows, []types.Datum{"warning", w.Message})
		}
		if c := st.Comment(catalog.Dep{OID: m.OID}); c != "" {
			rows = append(rows, []types.Datum{"comment", c})
		}
		rows = append(rows, []types.Datum{"sha256", fmt.Sprintf("%x", v.SHA256)})
		if st.Inherits(x.Caller.Role, m.Owner) {
			rows = append(rows, []types.Datum{"statement", v.Statement})
		}
		return session.Table(cols, rows, n.Tag())
	}}, nil
}

// ofGroups describe the groups of a model that has one for each value of a key.
func ofGroups(st *catalog.State, v *catalog.ModelVersion) (rows [][]types.Datum) {
	if v.Groups == nil {
		return nil
	}
	var by []string
	for _, k := range v.Groups.By {
		by = append(by, k.Name+" "+st.TypeName(k.Type))
	}
	return [][]types.Datum{{"groups by", strings.Join(by, ", ")}, {"groups", fmt.Sprint(v.Groups.Total)},
		{"groups trained", fmt.Sprint(v.Groups.Total - v.Groups.Failed)}, {"groups failed", fmt.Sprint(v.Groups.Failed)}, {"unknown groups", v.Groups.Unknown}}
}

// targets describe what a model predicts.
func targets(st *catalog.State, v *catalog.ModelVersion) (rows [][]types.Datum) {
	parts, suffix := []*catalog.ModelVersion{v}, func(int) string { return "" }
	if len(v.Target) > 1 {
		parts = nil
		for i := range v.Target {
			parts = append(parts, v.Part(i))
		}
		suffix = func(i int) string { return " of " + v.Target[i] }
	}
	var all []string
	for i, p := range parts {
		if len(p.Target) > 0 {
			all = append(all, p.Target[0]+" "+st.TypeName(p.TargetType))
		}
		if p.Classes != nil {
			rows = append(rows, []types.Datum{"classes" + suffix(i), strings.Join(p.Classes, ", ")})
		}
	}
	if all != nil {
		rows = append([][]types.Datum{{"target", strings.Join(all, ", ")}}, rows...)
	}
	return rows
}

// measured is a loss or a metric as DESCRIBE shows it: NULL where there is none.
func measured(f float64) types.Datum {
	if types.FiniteOrNull(f) == nil {
		return nil
	}
	return fmt.Sprintf("%.6g", f)
}
