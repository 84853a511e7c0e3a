package train

import (
	"context"
	"crypto/sha256"
	"math"
	"strings"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// GroupTrainer trains a job's model on groups of rows, one after the other, in the caller's goroutine: a training
// of one worker and one thread each, over these rows alone. It implements op.GroupTrainer.
type GroupTrainer struct {
	job   *Job
	long  int64
	node  uint64
	pool  *mem.Pool // the statement's
	cfg   WorkerConfig
	again bool    // a search may want rows encoded in several ways
	w     *Worker // of the open group
	rows  int64
	read  []*batch.Batch // those rows, with again
	kept  *mem.Account   // of them, and of what a search keeps
	err   error          // the group's, met while its rows were added
	left  bool           // it has too many rows
}

// NewGroupTrainer makes a trainer of groups with at most long rows, 0 for any; pool is the statement's on this node.
func NewGroupTrainer(job []byte, long int64, pool *mem.Pool, temp string, node uint64) (*GroupTrainer, error) {
	j, err := DecodeWhole(job)
	if err != nil {
		return nil, err
	}
	t := &GroupTrainer{job: j, long: long, node: node, pool: pool, cfg: WorkerConfig{Pool: pool.Child("groups", 0), Temp: temp}}
	if s := j.search; s != nil {
		t.again = s.only == nil && s.config.Algorithm == search.TPE || j.Outlook().Readings > 1 // of TPE it is not known before
	}
	t.kept = t.cfg.Pool.Account("what a search keeps", false)
	return t, nil
}

// Add implements op.GroupTrainer.
func (t *GroupTrainer) Add(ctx context.Context, b *batch.Batch, from, to int) (err error) {
	if t.rows == 0 {
		t.cfg.Context = ctx
		if t.w, err = NewWorker(t.job, t.cfg); err != nil {
			return err
		}
		t.err, t.left = nil, false
	}
	switch t.rows += int64(to - from); {
	case t.err != nil || t.left:
		return nil
	case t.long > 0 && t.rows > t.long:
		t.left = true
		return t.close()
	}
	if err = t.w.Add(ctx, b.Slice(from, to)); err != nil && ctx.Err() == nil && ofGroup(err) {
		t.err, err = err, nil
	}
	if err == nil && t.again {
		err = t.keep(b.Slice(from, to))
	}
	return err
}

// keep copies rows.
func (t *GroupTrainer) keep(b *batch.Batch) error {
	if err := t.kept.Grow(bytesOf(b)); err != nil {
		return err
	}
	b = kernel.Compact(b)
	idx := make([]int32, b.N)
	for i := range idx {
		idx[i] = int32(i)
	}
	c := &batch.Batch{N: b.N, Seq: -1}
	for _, col := range b.Cols {
		c.Cols = append(c.Cols, kernel.Take(col, idx))
	}
	t.read = append(t.read, c)
	return nil
}

// open makes another worker of the group's rows, for trials that want them encoded in another way.
func (t *GroupTrainer) open(ctx context.Context, job *Job, _ int) (*Group, error) {
	w, err := NewWorker(job, t.cfg)
	if err != nil {
		return nil, err
	}
	g := &Group{Reducer: solo{w}, Close: func() { _ = w.Close() }}
	for _, b := range t.read {
		if err == nil {
			err = w.Add(ctx, b)
		}
	}
	if err == nil {
		var d *Distribution
		if d, err = Distribute(ctx, job, g.Reducer, 1, 0); err == nil {
			g.Rows = d.Rows
			return g, nil
		}
	}
	g.Close()
	return nil, err
}

// End implements op.GroupTrainer.
func (t *GroupTrainer) End(ctx context.Context) ([]byte, error) {
	rows := t.rows
	t.rows = 0
	if t.left {
		out := &groups.Outcome{Node: t.node, Long: rows}
		return out.Append(nil), nil
	}
	before := t.cfg.Pool.Spilled()
	g, err := t.train(ctx)
	out := &groups.Outcome{Node: t.node, Read: t.w.read.Load(), Block: t.w.rows.Usage().Encoded, Written: t.cfg.Pool.Spilled() - before, Spilled: t.pool.Spilled(), Peak: t.pool.Peak()}
	if cerr := t.close(); err == nil {
		err = cerr
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		if g = GroupError(err, rows); g == nil {
			return nil, err
		}
	}
	out.Group = g.Append(nil)
	return out.Append(nil), nil
}

// ofGroup reports whether an error is of a group's rows, and says nothing of other groups.
func ofGroup(err error) bool {
	code := pgerr.CodeOf(err)
	return strings.HasPrefix(string(code), "22") || code == pgerr.FeatureNotSupported
}

func (t *GroupTrainer) train(ctx context.Context) (*groups.Group, error) {
	if t.err != nil {
		return nil, t.err
	}
	red := solo{t.w}
	d, err := Distribute(ctx, t.job, red, 1, 0)
	if err != nil {
		return nil, err
	}
	in := Input{Job: t.job, Rows: d.Rows, Part: true, Open: t.open, Hold: func(n int64) error { return t.kept.Resize(t.kept.Used() + n) }}
	res, err := Run(ctx, in, red)
	if err != nil {
		return nil, err
	}
	return GroupOf(t.job, res), nil
}

// GroupOf is the group whose training by a job had a result.
func GroupOf(job *Job, res *Result) *groups.Group {
	if res.scored != nil {
		return &groups.Group{Search: codec.Marshal(*res.scored)}
	}
	g := &groups.Group{Rows: res.Rows, Iterations: res.Iterations, TrainLoss: res.TrainLoss, Converged: res.Converged, Metrics: res.Metrics,
		Classes: ClassKeys(res.Model), Model: res.Model.Encode()}
	g.SHA256 = sha256.Sum256(g.Model)
	if o := job.search; o != nil {
		s := catalog.ModelSearch{Algorithm: o.config.Algorithm, Objective: res.Objective, Best: res.Best}
		for _, x := range res.Trials {
			x.Seconds = math.NaN() // which would make the same rows another file
			s.Trials = append(s.Trials, x.Record())
		}
		g.Search = codec.Marshal(s)
	}
	return g
}

// GroupError is the group whose training failed for its rows; nil if an error says nothing of them.
func GroupError(err error, rows int64) *groups.Group {
	if !ofGroup(err) {
		return nil
	}
	e := pgerr.From(err)
	return &groups.Group{Code: string(e.Code), Error: e.Message, Rows: rows}
}

// ClassKeys returns the keys of the classes of each target of a model.
func ClassKeys(m *model.Model) [][]string {
	out := [][]string{m.Fitted.Keys}
	for _, t := range m.Fitted.More {
		out = append(out, t.Keys)
	}
	return out
}

func (t *GroupTrainer) close() error {
	if t.w == nil {
		return nil
	}
	err := t.w.Close()
	t.w, t.read = nil, nil
	t.kept.Shrink(t.kept.Used())
	return err
}

// Close implements op.GroupTrainer.
func (t *GroupTrainer) Close() error {
	err := t.close()
	t.kept.Close()
	if leaked := t.cfg.Pool.Close(); leaked > 0 && err == nil {
		err = pgerr.Internal("a training of groups ended with %d charged bytes", leaked)
	}
	return err
}

// solo is a Reducer over one worker.
type solo struct{ w *Worker }

// Home implements Reducer.
func (s solo) Home() *family.Node { return s.w.Home() }

// Reduce implements Reducer.
func (s solo) Reduce(ctx context.Context, t Task) (family.Message, error) {
	p, err := s.w.Begin(t, func(context.Context, *Shipment) error {
		return pgerr.Internal("a training of one worker has nobody to send to")
	})
	if err == nil {
		err = p.Run(ctx)
	}
	if err != nil {
		return nil, err
	}
	m, err := p.Result()
	if err == nil && m == nil {
		err = pgerr.Internal("a training task gave no result")
	}
	return m, err
}
