package training

import (
	"context"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

// Plan is a TRAIN statement that was checked over a state of the catalog.
type Plan struct {
	Query     *plan.Query // its columns are trained on
	Given     *plan.Query // returns the rows to begin with; nil for none
	Job       *train.Job
	transform *transformed // nil without TRANSFORM
	// Groups is what GROUP BY says; nil without it. rows and keys are the places of the columns of Query that
	// are trained on, and of those that say which group a row belongs to.
	Groups     *catalog.ModelGroups
	rows, keys []int
	holidays   string // the relation of holidays that Query reads, "" for none
	// State is the one that the plan is made over, with the tables of the past that its query reads.
	State *catalog.State
}

// Plan checks a statement. Its caller has the types of parameters that are known already.
func (j *Jobs) Plan(ctx context.Context, s Statement, c *query.Caller, st *catalog.State) (*Plan, error) {
	var last *bind.Session
	binding := func(c *query.Caller) *bind.Session {
		last = j.cfg.Queries.Binding(c, st, s.Text, query.Poll(ctx))
		last.Recorded = catalog.PastOf(st) != nil // each binding finds the same ones
		return last
	}
	q, err := bind.Query(binding(c), s.Query)
	if err != nil {
		if pgerr.Is(err, pgerr.GroupingError) && len(s.GroupBy) == 0 && s.Query.GroupClause != nil {
			err = pgerr.From(err).WithHint("For a model of each group write GROUP BY before AS: TRAIN MODEL … GROUP BY column AS SELECT ….")
		}
		return nil, err
	}
	args, err := s.arguments()
	if err != nil {
		return nil, err
	}
	if s.Algorithm != "" {
		if _, _, err := families.Find(s.Algorithm); err != nil {
			return nil, pgerr.From(err).At(s.AlgorithmPos)
		}
	}
	if err := train.CheckTargets(s.Predict, s.PredictPos, datasetColumns(q)); err != nil {
		return nil, err
	}
	by, err := s.grouping(args)
	if err != nil {
		return nil, err
	}
	for i, name := range s.Predict {
		if by.has(name) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "column %q cannot be both target and a key of groups", name).At(s.PredictPos[i])
		}
	}
	p, sel := &Plan{Query: q}, s.Query
	if relation := s.holidays(args); relation != nil {
		if sel, p.holidays, err = relation.over(binding(c), sel, q, args, by); err != nil {
			return nil, err
		}
		if q, err = bind.Query(binding(c), sel); err != nil {
			return nil, err
		}
		p.Query = q
	}
	var encoders []feature.Transform
	split, err := train.ReadSplit(args, datasetColumns(q))
	if err != nil {
		return nil, err
	}
	if seq := split != nil && split.Seq; s.Transform != nil || seq {
		p.transform, err = s.transform(binding(c.With(nil, nil)), q, func(name string) bool { return s.isTarget(name, args) || by.has(name) })
		if err != nil {
			return nil, err
		}
		if seq && by != nil {
			return nil, pgerr.Unsupported("one model a group does not go with a sequential split yet")
		}
		if seq {
			if err := p.transform.hold(split, sel); err != nil {
				return nil, err
			}
			args = split.Decided(args)
		}
		encoders = p.transform.encoders
		sel = p.transform.computed(sel)
		if p.Query, err = bind.Query(binding(c), sel); err != nil {
			return nil, err
		}
	}
	if err := p.divide(by); err != nil {
		return nil, err
	}
	p.Job, err = train.NewJob(s.Algorithm, s.Predict, args, encoders, p.columns())
	if err == nil {
		err = p.mayGroup()
	}
	if err == nil && (p.Job.Plan.Time != "" || p.Job.Plan.Pair != nil || p.Job.Plan.Identity != "") && s.Transform != nil {
		err = pgerr.Unsupported("TRANSFORM does not go with %s", p.Job.Family.Info().Name).WithHint("Compute the columns in the query.")
	}
	if err == nil && st.Finalized() < version.Binary {
		err = p.Job.Finalized(args)
	}
	if err == nil && p.Job.Options.Bool("nan_as_null", false) {
		if sel, err = missingNaN(sel, p.Query, p.Job); err != nil {
			return nil, err
		}
		p.Query, err = bind.Query(binding(c), sel)
	}
	p.State = last.State
	if err == nil && p.Job.Plan.Given != nil {
		p.Given, err = j.given(ctx, c, p.State, p.Job)
	}
	return p, err
}

// uses returns the relations and columns that the training reads.
func (p *Plan) uses() []plan.TableUse {
	if p.Given == nil {
		return p.Query.Tables
	}
	return slices.Concat(p.Query.Tables, p.Given.Tables)
}

// datasetColumns returns a query's columns with the types that they are trained on with.
func datasetColumns(q *plan.Query) (cols []record.Column) {
	for _, c := range q.Cols {
		typ := c.Type
		if typ.OID == types.UnknownOID || typ.OID == types.BpcharOID {
			typ = types.Text // a category has no trailing blanks
		}
		cols = append(cols, record.Column{Name: c.Name, Type: typ})
	}
	return cols
}

func (s Statement) isTarget(name string, args []family.Arg) bool {
	if slices.ContainsFunc(s.Predict, func(p string) bool { return strings.EqualFold(p, name) }) {
		return true
	}
	for _, a := range args {
		if family.NamesColumn(a, name) {
			return true
		}
	}
	return false
}

// given binds a query of the relation whose rows the training begins with: the columns with the names
// of the features, in an order that depends only on the rows.
func (j *Jobs) given(ctx context.Context, c *query.Caller, st *catalog.State, job *train.Job) (*plan.Query, error) {
	g := job.Plan.Given
	parts, err := catalog.SplitName(g.Relation)
	if err != nil {
		return nil, pgerr.From(err).At(g.Pos)
	}
	if len(parts) > 2 {
		return nil, pgerr.New(pgerr.InvalidName, "improper relation name (too many dotted names): %s", g.Relation).At(g.Pos)
	}
	sel := ast.NewSelectStmt()
	sel.FromClause.Append(ast.NewRangeVar(parts[len(parts)-1], strings.Join(parts[:len(parts)-1], ""), ""))
	sel.SortClause = ast.NewNodeList()
	for i, c := range job.Features() {
		of := ast.NewColumnRef(ast.NewString(c.Name))
		sel.TargetList.Append(ast.NewResTarget("", ast.NewTypeCast(of, typing.TypeNode(c.Type), -1)))
		sel.SortClause.Append(ast.NewSortBy(ast.NewA_Const(ast.NewInteger(i+1), -1), ast.SORTBY_DEFAULT, ast.SORTBY_NULLS_DEFAULT, -1))
	}
	sel.LimitCount = ast.NewA_Const(ast.NewInteger(g.Most+1), -1)
	q, err := bind.Query(j.cfg.Queries.Binding(c.With(nil, nil), st, nil, query.Poll(ctx)), sel)
	if err != nil {
		e := pgerr.From(err).At(g.Pos)
		switch e.Code {
		case pgerr.UndefinedColumn:
			return nil, e.WithHint("Relation %s needs a column for each feature of the model.", g.Relation)
		case pgerr.UndefinedTable:
			return nil, e.WithHint("The option takes the name of a relation, or one of the words that the manual has.")
		}
		return nil, e
	}
	return q, nil
}
