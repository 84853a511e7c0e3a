package eval_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// testHost stands for a session without a server: an empty catalog, and settings in a map.
type testHost struct {
	st       *catalog.State
	settings map[string]string
}

func newHost() *testHost {
	return &testHost{st: catalog.New(), settings: map[string]string{"timezone": "UTC", "search_path": `"$user", public`}}
}

func (h *testHost) Catalog() *catalog.State { return h.st }
func (h *testHost) Session() *function.Session {
	return &function.Session{User: catalog.BootstrapRoleOID, SessionUser: catalog.BootstrapRoleOID, Database: "tributary", PID: 42,
		Path: []types.OID{catalog.PublicOID}}
}
func (h *testHost) Setting(name string) (string, bool) { v, ok := h.settings[name]; return v, ok }
func (h *testHost) Set(name string, value *string, local bool) (string, error) {
	if value == nil {
		value = new(string)
	}
	h.settings[name] = *value
	return *value, nil
}
func (h *testHost) Nextval(_ context.Context, _ types.OID, out []int64) error {
	for i := range out {
		out[i] = 1
	}
	return nil
}
func (h *testHost) Currval(types.OID) (int64, error) { return 1, nil }
func (h *testHost) Lastval() (int64, error)          { return 1, nil }
func (h *testHost) Setval(context.Context, types.OID, int64, bool) error {
	return nil
}
func (h *testHost) Scorer(context.Context, expr.ModelRef, *mem.Pool) (function.Scorer, error) {
	return nil, pgerr.Unsupported("no models here")
}

type hostNames struct{ h *testHost }

func (n hostNames) RegIn(t types.OID, name string) (types.OID, error) {
	return objname.RegIn(n.h, t, name)
}
func (n hostNames) RegOut(t types.OID, o types.OID) (string, bool) { return objname.RegOut(n.h, t, o) }

func newEnv(h *testHost) *function.Env {
	te := *types.DefaultEnv
	te.Now = time.Date(2024, 5, 17, 12, 34, 56, 789e6, time.UTC)
	te.Names = hostNames{h}
	return &function.Env{Types: &te, Host: h}
}

// errPlan is returned for queries that need operators, which these tests do not run.
var errPlan = fmt.Errorf("needs operators")

// query binds and runs a query without tables.
func query(sql string, env *function.Env) (cols []plan.Column, rows [][]types.Datum, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			panic(r)
		}
	}()
	list, err := parse.Parse(sql, parse.Postgres)
	if err != nil {
		return nil, nil, err
	}
	sel, ok := list[0].Node.(*ast.SelectStmt)
	if !ok || len(list) != 1 {
		return nil, nil, errPlan
	}
	q, err := bind.Query(&bind.Session{Names: bind.Names{State: env.Host.Catalog(), SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID},
		Text: list[0], Env: env.Types}, sel)
	if err != nil {
		return nil, nil, err
	}
	if len(q.Buffers) > 0 {
		return nil, nil, errPlan
	}
	b, in, err := runNode(q.Root, env)
	if err != nil {
		return nil, nil, err
	}
	rows = make([][]types.Datum, b.Rows())
	for _, c := range q.Cols {
		p, err := eval.Compile(&expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}, in, env)
		if err != nil {
			return nil, nil, err
		}
		arr, err := p.Eval(context.Background(), b)
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			rows[i] = append(rows[i], types.DatumAt(c.Type, arr, i))
		}
	}
	return q.Cols, rows, nil
}

func runNode(n plan.Node, env *function.Env) (*batch.Batch, []plan.Column, error) {
	ctx := context.Background()
	switch n := n.(type) {
	case *plan.Values:
		cols := make([]arrow.Array, len(n.Cols))
		for i, c := range n.Cols {
			var ds []types.Datum
			for _, r := range n.Rows {
				d, err := eval.Constant(r[i], env)
				if err != nil {
					return nil, nil, err
				}
				ds = append(ds, d)
			}
			arr, err := column(c.Type, ds)
			if err != nil {
				return nil, nil, err
			}
			cols[i] = arr
		}
		return batch.New(cols, len(n.Rows)), n.Cols, nil
	case *plan.Project:
		b, in, err := runNode(n.Input, env)
		if err != nil {
			return nil, nil, err
		}
		out := make([]arrow.Array, len(n.Items))
		for i, it := range n.Items {
			p, err := eval.Compile(it.Expr, in, env)
			if err != nil {
				return nil, nil, err
			}
			if out[i], err = p.Eval(ctx, b); err != nil {
				return nil, nil, err
			}
			if out[i].Len() != b.Rows() {
				return nil, nil, fmt.Errorf("%d rows of %d", out[i].Len(), b.Rows())
			}
		}
		return batch.New(out, b.Rows()), n.Schema(), nil
	case *plan.Filter:
		b, in, err := runNode(n.Input, env)
		if err != nil {
			return nil, nil, err
		}
		f, err := eval.CompileFilter(n.Conds, in, env)
		if err != nil {
			return nil, nil, err
		}
		b, err = f.Select(ctx, b)
		return b, in, err
	case *plan.FuncScan:
		return runSets(n.Calls, batch.New(nil, 1), nil, n.Ordinality != 0, false, n.Schema(), env)
	case *plan.ProjectSet:
		b, in, err := runNode(n.Input, env)
		if err != nil {
			return nil, nil, err
		}
		return runSets(n.Calls, b, in, n.Ordinality != 0, n.Outer, n.Schema(), env)
	}
	return nil, nil, errPlan
}

func runSets(calls []plan.SetCall, b *batch.Batch, in []plan.Column, ordinality, outer bool, schema []plan.Column, env *function.Env) (*batch.Batch, []plan.Column, error) {
	ctx := context.Background()
	s, err := eval.CompileSets(calls, in, env, outer)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Start(ctx, b); err != nil {
		return nil, nil, err
	}
	data := make([][]types.Datum, len(schema))
	for {
		parents, cols, ord, err := s.Next(ctx, 3)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		for i, p := range parents {
			k := 0
			for range in {
				row := int(p)
				if b.Sel != nil {
					row = int(b.Sel[p])
				}
				data[k] = append(data[k], types.DatumAt(in[k].Type, b.Cols[k], row))
				k++
			}
			for _, c := range cols {
				data[k] = append(data[k], types.DatumAt(schema[k].Type, c, i))
				k++
			}
			if ordinality {
				data[k] = append(data[k], ord[i])
			}
		}
	}
	n := len(data[0])
	out := make([]arrow.Array, len(schema))
	for i, c := range schema {
		if out[i], err = column(c.Type, data[i]); err != nil {
			return nil, nil, err
		}
	}
	return batch.New(out, n), schema, nil
}

func sameFloat(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	d, m := x-y, x
	if d < 0 {
		d = -d
	}
	if m < 0 {
		m = -m
	}
	return d <= 1e-9*m
}
