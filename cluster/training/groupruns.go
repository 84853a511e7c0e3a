package training

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// groupRuns is what a drive knows of the groups that are trained. It outlives attempts: what a lost node had
// finished is not trained again, nor, by a checkpoint, what a lost driver knew of.
type groupRuns struct {
	pile   *groups.Pile
	acct   *mem.Account
	dir    *spill.Dir
	pooled []byte // the model of all rows, once it is trained
	usage  map[uint64]*train.Usage
	known  bool               // the next two
	base   *catalog.GroupBase // nil for none
	part   *catalog.State     // what is to be read, where groups of an earlier version are kept; else nil
	kept   int64              // how many are
	may    bool               // the rows are the same each time, so that checkpoints may be made
	every  int                // groups from one checkpoint to the next; 0: by time
	none   bool               // no checkpoints
	saved  time.Time
	since  int           // groups since
	took   time.Duration // of the last checkpoint
	// search chooses one trial for all groups; nil for none. job trains the trials that it wants now, or the best one's
	// settings once it is over: best is its number then.
	search *train.SharedSearch
	job    *train.Job
	best   int
}

// openGroups makes d.runs, with what a checkpoint has.
func (d *drive) openGroups(ctx context.Context) error {
	if d.runs != nil {
		return nil
	}
	o := d.plan.Job.Options
	g := &groupRuns{acct: d.x.Pool.Account("trained groups", false), dir: d.x.Spill(), usage: map[uint64]*train.Usage{}, saved: time.Now()}
	if o.Given("checkpoint_every") {
		g.every = o.Int("checkpoint_every", 0)
		g.none = g.every == 0
	}
	g.newPile(ctx)
	g.search = train.NewSharedSearch(d.plan.Job)
	d.runs = g
	if d.rec.resume == nil {
		return nil
	}
	return d.j.cfg.Blobs.Read(ctx, d.rec.resume, func(b []byte) error {
		rest, ok := bytes.CutPrefix(b, []byte(pileMagic))
		if !ok { // of the model of all rows
			return nil
		}
		e := canon.Read(rest)
		pooled := bytes.Clone(e.Bytes())
		var trials []byte
		if g.search != nil {
			trials = e.Bytes()
		}
		if !e.OK() {
			return e.Done("a training checkpoint")
		}
		if g.search != nil {
			if err := g.search.Restore(trials); err != nil {
				return err
			}
		}
		if err := g.pile.Restore(rest[len(rest)-e.Left():]); err != nil {
			return err
		}
		if len(pooled) > 0 {
			g.pooled = pooled
		}
		return nil
	})
}

// newPile makes the pile of the groups that are trained now.
func (g *groupRuns) newPile(ctx context.Context) {
	g.acct.Shrink(g.acct.Used())
	g.pile = groups.NewPile(func() (groups.Temp, error) { return g.dir.Spool(ctx) }, g.acct.Grow)
}

// pileMagic begins a checkpoint of groups.
const pileMagic = "TRIBPILE"

// write writes a checkpoint.
func (g *groupRuns) write(w io.Writer) error {
	e := &canon.E{B: []byte(pileMagic)}
	e.Bytes(g.pooled)
	if g.search != nil {
		e.Bytes(g.search.Encode())
	}
	if _, err := w.Write(e.B); err != nil {
		return err
	}
	return g.pile.Write(w)
}

// saveGroupsAfter is how much work of groups may be lost.
const saveGroupsAfter = 10 * time.Second

// save makes a checkpoint if one is due. What is written grows with the groups that are finished, so a checkpoint takes
// a small part of the time between two.
func (g *groupRuns) save(ctx context.Context, rec *jobRecord) error {
	due := time.Since(g.saved) >= max(saveGroupsAfter, 20*g.took)
	if due = due || g.every > 0 && g.since >= g.every; !due || g.none || !g.may {
		return nil
	}
	began := time.Now()
	if err := rec.Save(ctx, g.pile.Len(), g.write); err != nil {
		return err
	}
	g.saved, g.since, g.took = time.Now(), 0, time.Since(began)
	return nil
}

// used adds what a node has used for a group.
func (g *groupRuns) used(o *groups.Outcome) {
	u := g.usage[o.Node]
	if u == nil {
		u = &train.Usage{Reads: 1}
		g.usage[o.Node] = u
	}
	u.Read, u.Block = u.Read+o.Read, u.Block+o.Block
	u.Written, u.Peak = max(u.Written, o.Spilled), max(u.Peak, o.Peak)
}

// closeGroups frees what groups take.
func (d *drive) closeGroups() error {
	if d.runs == nil {
		return nil
	}
	err := d.runs.pile.Close()
	if cerr := d.runs.dir.Close(); err == nil {
		err = cerr
	}
	d.runs.acct.Close()
	d.runs = nil
	return err
}

// group is a key: as it is found by, and its values.
type group struct {
	key  []byte
	vals []types.Datum
	rows int64
}

// mostLong is how many long groups are trained one after the other, by all threads of all nodes: of more, each has a
// thread of its own, for they keep all of them busy, and reading the query for each would take longer.
const mostLong = 8

// attemptGroups trains a model on each group, most by one plan that ends in them, and writes the file of models.
func (d *drive) attemptGroups(ctx context.Context, name string, rescan bool) error {
	since := time.Now()
	if d.runs != nil && !d.runs.may { // the rows may be others now
		if err := d.closeGroups(); err != nil {
			return err
		}
	}
	if err := d.openGroups(ctx); err != nil {
		return err
	}
	g := d.runs
	if err := d.chooseTrial(ctx, name, rescan); err != nil {
		return err
	}
	if d.plan.Groups.Unknown == catalog.UnknownPooled && g.pooled == nil {
		if err := d.attemptFrom(ctx, name, rescan, nil); err != nil {
			return err
		}
		g.pooled = d.result.Model.Encode()
	}
	d.rec.phase("train", 0)
	if err := d.trainGroups(ctx, name, rescan); err != nil {
		return err
	}
	of, sum := *d.plan.Groups, &groupSum{}
	of.Base, of.Kept = g.base, g.kept
	var err error
	write := func(w io.Writer) error { return d.writeGroups(w, &of, sum) }
	if d.show != nil {
		err = write(io.Discard)
	} else {
		err = d.rec.keep(ctx, write)
	}
	if err != nil {
		return err
	}
	d.groups, d.result = &of, sum.result(&of)
	if g.search != nil {
		d.result.Trials, d.result.Best, d.result.Objective = g.search.Trials, g.best, g.search.Objective
	}
	d.result.Elapsed = time.Since(since)
	d.members = slices.Sorted(maps.Keys(g.usage))
	for i, n := range d.members {
		g.usage[n].Worker = i
		d.result.Usage = append(d.result.Usage, *g.usage[n])
	}
	return nil
}

// trainGroups trains all groups that are not trained yet.
func (d *drive) trainGroups(ctx context.Context, name string, rescan bool) error {
	long, err := d.runGroups(ctx, d.x.Caller.GroupRows)
	if err == nil && len(long) > mostLong {
		long, err = d.runGroups(ctx, 0)
	}
	for i := range long {
		if err == nil {
			err = d.runLong(ctx, name+"."+string('a'+rune(i)), rescan, &long[i])
		}
	}
	return err
}

// runGroups trains the groups that are not trained yet by one plan, and returns those that have too many rows for
// that.
func (d *drive) runGroups(ctx context.Context, most int64) (long []group, err error) {
	r, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	g := d.runs
	if !g.known && (g.search == nil || g.best > 0) { // trials are measured on all groups
		g.base, g.known = d.groupBase(r.query), true
		if err := d.keepGroups(ctx, r.query); err != nil {
			return nil, err
		}
		if g.part != nil {
			r.close()
			if r, err = d.read(ctx); err != nil {
				return nil, err
			}
			defer r.close()
		}
	}
	_, g.may = r.query.Identity(func(s *plan.Source) bool { return !source.IsFile(s.Name) })
	root, err := d.grouped(ctx, r, g.pile.Keys(), most)
	if err != nil {
		return nil, err
	}
	rows, err := r.Start(ctx, root, root.Schema(), nil)
	if err != nil {
		return nil, err
	}
	by := d.plan.Groups.By
	specs := make([]kernel.KeySpec, len(by))
	for i, k := range by {
		specs[i] = kernel.KeySpec{Type: k.Key}
	}
	enc, ks := kernel.NewKeyEncoder(specs), &kernel.Keys{}
	err = eachBatch(ctx, rows, func(b *batch.Batch) error {
		b = kernel.Compact(b)
		ks.Reset()
		enc.Append(ks, b.Cols[:len(by)], b.N)
		for i := range b.N {
			x := group{key: bytes.Clone(ks.At(i)), vals: make([]types.Datum, len(by))}
			for k := range by {
				x.vals[k] = types.DatumAt(by[k].Key, b.Cols[k], i)
			}
			made, _ := types.DatumAt(types.Bytea, b.Cols[len(by)], i).([]byte)
			o, err := groups.DecodeOutcome(made)
			switch {
			case err != nil:
				return err
			case o.Long > 0:
				x.rows = o.Long
				long = append(long, x)
				continue
			}
			g.used(o)
			if err := g.pile.Put(x.key, x.vals, o.Group); err != nil {
				return err
			}
			g.since++
		}
		d.rec.groups(g.pile.Len())
		return g.save(ctx, d.rec)
	})
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	if err == nil && d.show != nil {
		d.planned = r.Show(*d.show, nil)
	}
	slices.SortFunc(long, func(a, b group) int { return bytes.Compare(a.key, b.key) })
	return long, err
}

// runLong trains a group's model as that of all rows is trained: on all threads of all nodes.
func (d *drive) runLong(ctx context.Context, name string, rescan bool, x *group) error {
	d.only = x
	defer func() { d.only = nil }()
	var made *groups.Group
	switch err := d.attemptFrom(ctx, name, rescan, nil); {
	case err == nil:
		made = train.GroupOf(d.job(), d.result)
		for _, u := range d.result.Usage {
			if u.Worker < len(d.members) {
				d.runs.used(&groups.Outcome{Node: d.members[u.Worker], Read: u.Read, Block: u.Block, Spilled: u.Written, Peak: u.Peak})
			}
		}
	default:
		if made = train.GroupError(err, x.rows); made == nil || ctx.Err() != nil {
			return err
		}
	}
	if err := d.runs.pile.Put(x.key, x.vals, made.Append(nil)); err != nil {
		return err
	}
	d.runs.since++
	return d.runs.save(ctx, d.rec)
}

// within restricts a query to the rows of the group that is trained alone.
func (d *drive) within(q *plan.Query) {
	if d.only == nil {
		return
	}
	f := &plan.Filter{Input: q.Root}
	for i, at := range d.plan.keys {
		key := d.plan.Groups.By[i].Key
		f.Conds = append(f.Conds, rewrite.SameValue(columnAs(q.Cols[at], key), &expr.Const{Val: d.only.vals[i], Typ: key}))
	}
	q.Root = f
}

// writeGroups writes the file of models.
func (d *drive) writeGroups(to io.Writer, of *catalog.ModelGroups, sum *groupSum) error {
	keys := make([]record.Column, len(of.By))
	for i, k := range of.By {
		keys[i] = record.Column{Name: k.Name, Type: k.Key}
	}
	acct := d.x.Pool.Account("index of groups", false)
	defer acct.Close()
	w, err := groups.NewWriter(to, keys, acct.Grow)
	if err != nil {
		return err
	}
	var pooled func(io.Writer) error
	if d.runs.pooled != nil {
		m, err := model.Decode(d.runs.pooled)
		if err != nil {
			return err
		}
		sum.begin(m)
		pooled = func(w io.Writer) error {
			_, err := w.Write(d.runs.pooled)
			return err
		}
	}
	err = d.runs.pile.Each(func(key []byte, vals []types.Datum, g []byte) error {
		failed, err := sum.add(g, keyText(of.By, vals))
		if err != nil {
			return err
		}
		if of.Total++; failed {
			of.Failed++
		}
		return w.Put(key, vals, g)
	})
	switch {
	case err != nil:
		return err
	case of.Total == 0:
		return errNoGroups()
	case of.Failed == of.Total:
		return sum.failed
	}
	if err := d.plan.Job.CheckClasses(sum.first.Fitted); err != nil {
		return err
	}
	return w.Close(train.ClassKeys(sum.first), pooled)
}

func eachBatch(ctx context.Context, in op.BatchReader, f func(b *batch.Batch) error) error {
	for {
		b, err := in.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
	}
}

// keyText shows the key of a group.
func keyText(by []catalog.ModelGroupKey, vals []types.Datum) string {
	parts := make([]string, len(by))
	for i, k := range by {
		parts[i] = k.Name + " = NULL"
		if vals[i] != nil {
			parts[i] = k.Name + " = " + types.TextOf(k.Key, vals[i], nil)
		}
	}
	return strings.Join(parts, ", ")
}
