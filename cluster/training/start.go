package training

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// given binds the query over the relation whose rows the training begins with:
// its columns that are called as the features are, in an order that the rows alone
// decide.
func (j *Jobs) given(ctx context.Context, c *query.Context, st *catalog.State, job *train.Job) (*plan.Query, error) {
	g := job.Plan.Given
	parts, err := catalog.SplitName(g.Relation)
	if err != nil {
		return nil, pgerr.From(err).At(g.Pos)
	}
	for i, p := range parts {
		parts[i] = lex.QuoteName(p)
	}
	var cols, order []string
	for i, c := range job.Features() {
		cols = append(cols, fmt.Sprintf("%s::%s", lex.QuoteName(c.Name), c.Type))
		order = append(order, fmt.Sprint(i+1))
	}
	list, err := parse.Parse(fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT %d", strings.Join(cols, ", "), strings.Join(parts, "."),
		strings.Join(order, ", "), g.Most+1), parse.Postgres)
	if err != nil {
		return nil, err
	}
	q, err := bind.Query(j.cfg.Queries.Binding(c.With(nil, nil), st, list[0], query.Poll(ctx)), list[0].Node)
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

// begin reads what a training begins with: the model that it goes on from, and the
// rows that it is given. They are paid for until the function that it gives is
// called.
func (d *drive) begin(ctx context.Context, in *train.Input) (done func(), err error) {
	acct := d.x.Pool.Account("what a training begins with", false)
	defer func() {
		if err != nil {
			acct.Close()
		}
	}()
	if m := d.state.Model(d.rec.job.Schema, d.rec.job.Model); m != nil && in.Job.WarmStart() {
		err := d.j.cfg.Blobs.Read(ctx, m.Find(0).Blob(), func(b []byte) (err error) {
			in.Start, err = model.DecodeWithin(b, acct.Grow)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if d.plan.Given != nil && in.Resume == nil {
		if err := d.readGiven(ctx, in, acct); err != nil {
			return nil, err
		}
	}
	return acct.Close, nil
}

func (d *drive) readGiven(ctx context.Context, in *train.Input, acct *mem.Account) error {
	q, err := d.j.given(ctx, d.x.Context, d.state, in.Job) // the optimiser changes the tree it is given
	if err != nil {
		return err
	}
	r := d.x.Open(d.state)
	defer r.Close()
	rows, _, err := r.Query(ctx, planner.Once(q), nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := acct.Grow(b.Bytes()); err != nil {
			return err
		}
		in.Given = append(in.Given, kernel.Compact(b))
	}
}
