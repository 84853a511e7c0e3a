package training

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Explain shows how a statement would train; with ANALYZE it trains, and discards the model.
func (j *Jobs) Explain(ctx context.Context, r *Request, o query.Explain) (string, error) {
	p, err := j.Plan(ctx, r.Statement, r.Caller, r.State)
	if err != nil {
		return "", err
	}
	if err := plan.Authorize(p.State, r.Caller.Role, p.uses()); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Train %s\n", p.Job.Family.Info().Name)
	if names := p.Job.Targets(); names != nil {
		fmt.Fprintf(&b, "  Target: %s\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(&b, "  Features: %d columns\n", len(p.Job.Features()))
	if p.Groups != nil {
		b.WriteString("  Models: one a group\n")
	}
	switch s, n := p.Job.Outlook(), p.Job.MaxIterations(); {
	case s != nil:
		p.outlook(&b, s)
	case n > 0:
		fmt.Fprintf(&b, "  Iterations: at most %d\n", n)
	}
	if !o.Analyze {
		d := &drive{j: j, statement: r.Statement, x: r.Run, state: p.State, plan: p, query: p.Query}
		run, err := d.read(ctx)
		if err != nil {
			return "", err
		}
		defer run.close()
		var root plan.Node
		if p.Groups != nil {
			root, err = d.grouped(ctx, run, nil, 0)
		} else {
			root, err = d.dataset(ctx, run, "")
		}
		if err != nil {
			return "", err
		}
		if err := run.Stage(ctx, root, root.Schema(), nil); err != nil {
			return "", err
		}
		return b.String() + run.Show(o, nil), nil
	}
	now := time.Now()
	job := r.job(p)
	job.Schema, job.Tables, job.Attached = catalog.PublicOID, nil, true
	d, err := j.inSession(ctx, r, job, p, &o)
	if err != nil {
		return "", err
	}
	defer d.rec.close()
	res := d.result
	if n := len(res.Trials); n > 0 {
		sum := 0
		for _, t := range res.Trials {
			sum += t.Iterations
		}
		fmt.Fprintf(&b, "  Trials: %d, %d iterations in all; the best is trial %d by %s\n", n, sum, res.Best, res.Objective)
	}
	fmt.Fprintf(&b, "  Rows: %d trained on, %d held out\n  Iterated: %d times, %d evaluations, until %s\n  Loss: %.9g\n", res.Rows, res.Held, res.Iterations, res.Evals,
		res.Stopped, res.TrainLoss)
	fmt.Fprintf(&b, "  Time: %.3f ms to read and distribute, %.3f ms to fit, encode and iterate\n", d.reading.Seconds()*1e3, (res.Elapsed-d.reading).Seconds()*1e3)
	fmt.Fprintf(&b, "  Round trips: %d to all nodes, %.3f ms; %d commits of the job\n", d.trips.n, d.trips.took.Seconds()*1e3, d.rec.commits)
	d.used(&b)
	fmt.Fprintf(&b, "%sExecution Time: %.3f ms\n", d.planned, time.Since(now).Seconds()*1e3)
	return b.String(), nil
}

// outlook shows what a search will do.
func (p *Plan) outlook(b *strings.Builder, s *train.Outlook) {
	of, read, each, trials := "", s.Readings, "", ""
	switch {
	case p.Groups == nil && s.Beside > 1:
		if trials = fmt.Sprintf("%d side by side", s.Beside); !p.Job.InPlace() && p.Job.Plan.Windows == nil {
			trials += "; rows too few for all nodes are read once more for others"
		}
	case p.Groups == nil:
		trials = "one after the other, for each goes on from another"
	default:
		of, read, each, trials = ", for each group", 1, " a group", "of a group one after the other, groups side by side" // a group's rows are kept
		if s.Shared {
			of, read = ", the best one for all groups", s.Readings
		}
		switch { // the model of all rows
		case p.Groups.Unknown != catalog.UnknownPooled:
		case s.Shared:
			read++
		default:
			read += s.Readings
		}
	}
	fmt.Fprintf(b, "  Search: %s, %d trials, objective %s%s\n  Passes: the rows are read %s, and encoded %s%s", s.Algorithm, s.Trials, s.Objective, of, times(read), times(s.Encodings), each)
	if s.Iterations > 0 {
		fmt.Fprintf(b, "; at most %d iterations in all", s.Iterations)
	}
	b.WriteByte('\n')
	if s.Parallel > 1 {
		fmt.Fprintf(b, "  Trials: %s\n", trials)
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// used shows the bytes that the training read, moved, wrote and held in memory, in all and by node.
func (d *drive) used(b *strings.Builder) {
	sum, reused := train.Total(d.result.Usage), "no"
	if d.reused {
		reused = "yes"
	}
	if d.groups != nil { // rows go to the nodes of their groups by the query's own exchange
		sum.Moved += d.x.Exchanged
	}
	fmt.Fprintf(b, "  Dataset reused: %s\n", reused)
	fmt.Fprintf(b, "  Rows moved between nodes: %d bytes\n  Source read: %d bytes, read %d times\n  Encoded rows: %d bytes\n", sum.Moved, sum.Read, sum.Reads, sum.Block)
	fmt.Fprintf(b, "  Temporary files: %d bytes before the first iteration, %d bytes in all\n  Peak memory: %d bytes\n", sum.Before, sum.Written, sum.Peak)
	for _, u := range d.result.Usage {
		name := ""
		if u.Worker < len(d.members) {
			if n := d.state.Node(d.members[u.Worker]); n != nil {
				name = n.Name
			}
		}
		if b.WriteString("    Node " + name + ": "); d.groups == nil {
			fmt.Fprintf(b, "moved %d, ", u.Moved)
		}
		fmt.Fprintf(b, "read %d, encoded %d, temporary files %d and %d, peak %d bytes\n", u.Read, u.Block, u.Before, u.Written, u.Peak)
	}
}
