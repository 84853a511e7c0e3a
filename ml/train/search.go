package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// searcher runs the trials of a search, one after the other or some side by side: each has all
// threads of all nodes. Trials that want their rows encoded in the same way are of one group of
// workers, which read, fit and encode the rows once (with folds once for each of them).
//
//	batch ──▶ by encoding ──▶ by fold ──▶ trial after trial over the same blocks
type searcher struct {
	*runner
	spec   *Search
	alg    search.Search
	trials []*trial // by number
	groups []*group // the last used one last
	aim    *aim
	lanes  []*lane
	chains []chain      // of paths that lanes have left, or a checkpoint had
	turn   sync.Mutex   // held by the lane that works
	models []trialModel // of the best trial, or of all that succeeded if all are kept

	// what a checkpoint had: the run that it was in the middle of
	resumeOf, resumeFold int
	usages               []Usage // of groups that are closed
}

// trialModel is a trial's model, and the loss by which it is compared with others.
type trialModel struct {
	KeptTrial
	loss float64
}

// better reports whether a model is better than another; of equals that of the first trial.
func (m trialModel) better(than trialModel) bool {
	return m.loss < than.loss || m.loss == than.loss && m.Number < than.Number
}

// group is workers with their rows, and blocks of them.
type group struct {
	*Group
	key   string
	base  bool               // the workers of Input
	rows  *runner            // what is known of the blocks; nil before there are any
	fold  int                // of the blocks
	draws []*holdout.Holdout // what is held out, by fold
}

// readError is an error of a reading of the query, which is the search's whatever it is.
type readError struct{ error }

// Unwrap returns the error.
func (e readError) Unwrap() error { return e.error }

// mostGroups is how many encodings workers hold at a time, besides the first.
const mostGroups = 3

// search trains the trials and returns the best one's model.
func (r *runner) search(ctx context.Context) (*Result, error) {
	if r.in.Cached != nil {
		r.in.Rows = r.in.Cached.query
	}
	if err := r.mayDivide(); err != nil {
		return nil, err
	}
	s := &searcher{runner: r, lanes: []*lane{{}}, spec: r.job.search, alg: r.job.search.algorithm(), aim: r.job.search.aim}
	s.groups = []*group{{Group: &Group{Reducer: r.red, Rows: r.in.Rows, Rescan: r.in.Rescan}, key: string(r.job.Encoding()), base: true}}
	defer func() {
		for _, g := range s.groups {
			if !g.base {
				g.Close()
			}
		}
	}()
	if r.in.Resume != nil {
		if err := s.restore(); err != nil {
			return nil, err
		}
	}
	var last []search.Trial
	for batch := s.alg.Next(); len(batch) > 0; batch = s.alg.Next() {
		s.admit(last, batch)
		if err := s.run(ctx, batch); err != nil {
			return nil, err
		}
		losses := make([]float64, len(batch))
		for i, t := range batch {
			losses[i] = s.trials[t.Number-1].settle(t.Rung, t.Share)
			s.report(s.trials[t.Number-1])
		}
		s.alg.Tell(losses)
		last = batch
	}
	s.admit(last, nil)
	return s.finish(ctx)
}

// report reports a trial as it is now.
func (s *searcher) report(t *trial) {
	if s.in.Progress != nil {
		now := t.Trial
		s.in.Progress(Event{Trial: &now})
	}
}

// admit makes the trials of a batch, and stops those of the last that are not in it.
func (s *searcher) admit(last, batch []search.Trial) {
	for _, l := range last {
		t := s.trials[l.Number-1]
		if t.State == TrialRunning && !slices.ContainsFunc(batch, func(b search.Trial) bool { return b.Number == l.Number }) {
			t.State = TrialStopped
			s.over(t)
		}
	}
	for _, b := range batch {
		for len(s.trials) < b.Number {
			s.trials = append(s.trials, &trial{})
		}
		t := s.trials[b.Number-1]
		if t.Number > 0 {
			continue // of an earlier rung
		}
		t.Number, t.Args, t.State, t.Objective = b.Number, s.spec.texts(b.Point), TrialRunning, math.NaN()
		if t.runs == nil {
			t.runs = make([]trialRun, max(s.job.Folds(), 1))
		}
		var err error
		if t.Code != "" { // before the checkpoint
			t.fail(pgerr.New(pgerr.Code(t.Code), "%s", t.Error))
		} else if t.job, err = s.spec.job(b.Point); err != nil {
			t.fail(err)
		}
		s.report(t)
	}
}

// over reports a trial that is not trained any more, and drops the checkpoints from which
// it would have gone on.
func (s *searcher) over(t *trial) {
	for i := range t.runs {
		_ = s.hold(-int64(len(t.runs[i].paused))) // a release does not fail
		t.runs[i].paused = nil
	}
	s.report(t)
}

// ticks returns what reports, once a second, how far a trial is.
func (s *searcher) ticks(t *trial, fold int) func(now time.Time, iteration int) {
	last := s.in.Now()
	return func(now time.Time, iteration int) {
		if s.in.Progress == nil || now.Sub(last) < time.Second {
			return
		}
		last = now
		shown := t.Trial
		shown.Iterations = iteration
		for i, r := range t.runs {
			if i != fold {
				shown.Iterations += r.Iterations
			}
		}
		s.in.Progress(Event{Trial: &shown})
	}
}

// cancelled reports whether a trial was cancelled alone.
func (s *searcher) cancelled(number int) bool { return s.in.Cancelled != nil && s.in.Cancelled(number) }

// cancel ends the trials that were cancelled while they waited.
func (s *searcher) cancel() {
	for _, t := range s.trials {
		if t.State == TrialRunning && s.cancelled(t.Number) {
			t.fail(errTrialCancelled)
			s.over(t)
		}
	}
}

// run trains the trials of a batch, as far as they are not known.
func (s *searcher) run(ctx context.Context, batch []search.Trial) error {
	var keys []string
	by := map[string][]search.Trial{}
	for _, b := range batch {
		if t := s.trials[b.Number-1]; t.err == nil {
			key := string(t.job.Encoding())
			if by[key] == nil {
				keys = append(keys, key)
			}
			by[key] = append(by[key], b)
		}
	}
	for _, key := range keys {
		for _, fold := range s.foldsFrom(key) {
			err := s.each(ctx, unitsOf(s.steps(by[key])), func(ctx context.Context, l *lane, b step) error { return s.trialIn(ctx, l, key, fold, b, batch) })
			var read readError
			if errors.As(err, &read) {
				return read.error
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// foldsFrom returns the folds, first the one of which the workers have blocks.
func (s *searcher) foldsFrom(key string) (out []int) {
	folds, first := max(s.job.Folds(), 1), 0
	for _, g := range s.groups {
		if g.key == key && g.rows != nil {
			first = g.fold
		}
	}
	for i := range folds {
		out = append(out, (first+i)%folds)
	}
	return out
}

// encoded returns the workers that have blocks of a fold as a job wants them.
func (s *searcher) encoded(ctx context.Context, job *Job, key string, fold, first int) (*group, error) {
	g, err := s.group(ctx, job, key, first)
	if err != nil || g.rows != nil && g.fold == fold {
		return g, err
	}
	folds := s.job.Folds()
	in := s.in
	in.Rows, in.Rescan, in.Resume = g.Rows, g.Rescan, nil
	if !g.base {
		in.Cached = nil
	}
	r := &runner{in: in, red: g.Reducer, job: job, start: s.start}
	if folds > 0 {
		r.fold, r.folds = fold+1, folds+1
	}
	if in.Cached == nil && g.draws == nil {
		if g.draws, err = r.drawAll(ctx); err != nil {
			return nil, err
		}
	}
	held := &holdout.Holdout{} // of the last model nothing
	if fold < len(g.draws) {
		held = g.draws[fold]
	}
	g.rows = nil
	if err := r.prepare(ctx, held); err != nil {
		return nil, err
	}
	if fold < folds && r.Held == 0 {
		return nil, errEmptyFold(s.job)
	}
	g.rows, g.fold = r, fold
	return g, nil
}

// group returns the workers for an encoding, and has others read the rows if there are none.
func (s *searcher) group(ctx context.Context, job *Job, key string, first int) (*group, error) {
	if first > 0 {
		key = fmt.Sprintf("%d %s", first, key)
	}
	at := slices.IndexFunc(s.groups, func(g *group) bool { return g.key == key })
	if at >= 0 {
		g := s.groups[at]
		s.groups = append(slices.Delete(s.groups, at, at+1), g)
		return g, nil
	}
	if s.in.Open == nil {
		return nil, pgerr.Internal("a search cannot read its rows again")
	}
	if len(s.groups) > mostGroups {
		at := slices.IndexFunc(s.groups, func(g *group) bool { return !g.base })
		if err := s.close(ctx, s.groups[at]); err != nil {
			return nil, err
		}
		s.groups = slices.Delete(s.groups, at, at+1)
	}
	opened, err := s.in.Open(ctx, job, first)
	if err != nil {
		return nil, readError{err}
	}
	g := &group{Group: opened, key: key}
	s.groups = append(s.groups, g)
	return g, nil
}

// close ends a group, and notes what it has used.
func (s *searcher) close(ctx context.Context, g *group) error {
	u, err := (&runner{red: g.Reducer}).usage(ctx)
	if err != nil {
		return err
	}
	g.Close()
	s.used(u)
	return nil
}

// used adds what workers have used.
func (s *searcher) used(list []Usage) {
	for _, u := range list {
		at, ok := slices.BinarySearchFunc(s.usages, u, func(a, b Usage) int { return cmp.Compare(a.Worker, b.Worker) })
		if !ok {
			s.usages = slices.Insert(s.usages, at, u)
			continue
		}
		x := &s.usages[at]
		x.Read, x.Reads, x.Moved, x.Block = x.Read+u.Read, x.Reads+u.Reads, x.Moved+u.Moved, x.Block+u.Block
		x.Before, x.Written, x.Peak = x.Before+u.Before, x.Written+u.Written, max(x.Peak, u.Peak)
	}
}

// ofRows returns a runner that trains a job over a group's blocks in a lane.
func (s *searcher) ofRows(ctx context.Context, l *lane, g *group, job *Job, name string) (*runner, error) {
	red := s.reducer(l, g)
	if _, err := reduceTo[done](ctx, red, &trialTask{job}); err != nil {
		return nil, err
	}
	r := *g.rows
	if r.red = red; l.number > 0 {
		r.aside = s.aside
	}
	r.job, r.trial, r.driver, r.hist = job, name, nil, nil
	return &r, r.identify()
}

// begun returns a runner that has begun a trial, or one that has come to a prefix of it.
func (s *searcher) begun(ctx context.Context, l *lane, g *group, t *trial, fold int, b step, path string) (*runner, error) {
	stop, tick := func() bool { return s.cancelled(b.Number) }, s.ticks(t, fold)
	if b.longest != nil && l.long != nil && l.longOf == path {
		l.long.head, l.long.cancelled, l.long.tick = s.head(b.Number, fold), stop, tick
		return l.long, nil
	}
	l.long = nil
	job := t.job
	if b.longest != nil {
		job = b.longest
	}
	r, err := s.ofRows(ctx, l, g, job, fmt.Sprintf("trial %d", b.Number))
	if err != nil {
		return nil, err
	}
	if err := s.onPath(l, path); err != nil {
		return nil, err
	}
	r.head, r.cancelled, r.tick = s.head(b.Number, fold), stop, tick
	if r.in.Save != nil && (l.number > 0 || len(s.chains) > 0) {
		r.in.Save = &laneSave{s, r, &t.runs[fold], path == ""}
	}
	r.in.Resume = s.resumed(b.Number, fold)
	if b.longest == nil && path != "" && l.chain.of != path { // what its followers need is not in a checkpoint of the first
		r.in.Resume = nil
	}
	if p := t.runs[fold].paused; r.in.Resume == nil && len(p) > 0 {
		r.in.Resume = p
	}
	r.follow = func(d family.Driver) error { return l.follows(d, path) }
	if err := r.begin(); err != nil {
		return nil, err
	}
	if b.longest != nil {
		l.long, l.longOf = r, path
	}
	return r, nil
}

// train trains a trial to the end of its rung.
func (s *searcher) train(ctx context.Context, l *lane, g *group, t *trial, fold int, b step, path string) error {
	since := s.in.Now()
	run := &t.runs[fold]
	r, err := s.begun(ctx, l, g, t, fold, b, path)
	if err != nil {
		return err
	}
	prefix := b.longest != nil && b.longest.MaxIterations() > t.job.MaxIterations()
	if r.most = 0; b.Share < 1 || prefix {
		r.most = max(1, iterations(t.job.MaxIterations(), b.Share))
	}
	if err := r.iterate(ctx); err != nil {
		if !errors.Is(err, errTrialCancelled) { // of which longer ones go on
			l.long = nil
		}
		return err
	}
	st := r.driver.State()
	st.Done = st.Done || prefix
	var p family.Predictor
	metrics := st.Metrics
	if st.Done || measuredTarget(t.job.Plan) != family.NoTarget { // others have their model and metrics at the end only
		if p, metrics, err = r.measure(ctx); err != nil {
			return err
		}
	}
	if s.aim == nil {
		s.aim = defaultAim(t.job, len(r.learns.ForTarget(0).Keys), metrics, s.spec.config.Algorithm == search.Halving)
	}
	value, loss := s.aim.of(metrics, st)
	if value != value {
		return badObjective(s.job, "the objective %s was not measured", s.aim.name)
	}
	if t.err != nil { // cancelled meanwhile
		return t.err
	}
	if err := s.leaves(l, r.driver, path); err != nil {
		return err
	}
	run.Fold = Fold{r.Rows, r.Held, st.Iteration, run.Seconds + s.in.Now().Sub(since).Seconds(), metrics}
	if err := s.hold(-int64(len(run.paused))); err != nil {
		return err
	}
	run.rungs, run.value, run.loss, run.done, run.paused = b.Rung+1, value, loss, st.Done, nil
	if run.weight = r.measured; measuredTarget(t.job.Plan) == family.NoTarget {
		run.weight = r.Weight.Value()
	}
	if !st.Done && s.spec.only == nil {
		var e canon.E
		if err := r.encodeState(&e); err != nil {
			return err
		}
		run.paused = e.B
		return s.hold(int64(len(e.B)))
	}
	if s.job.Folds() > 0 || s.spec.only != nil {
		return nil
	}
	res := r.result(p, metrics)
	if prefix && res.Stopped == "" {
		res.Stopped, res.Converged = b.prefixed(t.job), true
	}
	return s.keep(ctx, r, b.Number, loss, res)
}

// keep keeps the model of a trial that r has trained, in the place of a worse one unless all are kept.
func (s *searcher) keep(ctx context.Context, r *runner, number int, loss float64, res *Result) (err error) {
	m := trialModel{KeptTrial{number, res}, loss}
	worse := func() bool { return !s.spec.keep && len(s.models) > 0 && !m.better(s.models[0]) }
	if worse() {
		return nil
	}
	if res.Profile, err = describe(ctx, r); err != nil {
		return err
	}
	// While this lane waited for its rows' profile others went on, and may have kept a better one.
	if worse() {
		return nil
	}
	if s.spec.keep || len(s.models) == 0 {
		s.models = append(s.models, m)
		return s.hold(res.Model.Predictor.Bytes())
	}
	old := s.models[0]
	s.models[0] = m
	return s.hold(res.Model.Predictor.Bytes() - old.Model.Predictor.Bytes())
}

// hold charges what is kept of trials.
func (s *searcher) hold(bytes int64) error {
	if s.in.Hold == nil {
		return nil
	}
	return s.in.Hold(bytes)
}

// resumed returns the checkpoint of a run that was interrupted, once.
func (s *searcher) resumed(number, fold int) []byte {
	if s.resumeOf != number || s.resumeFold != fold || s.in.Resume == nil {
		return nil
	}
	state := s.in.Resume
	s.in.Resume = nil
	return state
}

// finish makes the result of the best trial; with folds it is trained once more, on all rows.
func (s *searcher) finish(ctx context.Context) (*Result, error) {
	if s.spec.only != nil {
		return s.scores()
	}
	if s.job.Folds() > 0 {
		if err := s.last(ctx); err != nil {
			return nil, err
		}
	}
	if len(s.models) == 0 {
		return nil, s.errAllFailed()
	}
	slices.SortFunc(s.models, func(a, b trialModel) int { return cmp.Compare(a.Number, b.Number) })
	best := s.models[0]
	for _, m := range s.models[1:] {
		if m.better(best) {
			best = m
		}
	}
	res := best.Result
	for _, t := range s.trials {
		res.Trials = append(res.Trials, t.Trial)
	}
	for _, m := range s.models {
		if m.Number != best.Number {
			res.Kept = append(res.Kept, m.KeptTrial)
		}
	}
	res.Best, res.Objective, res.Encoded = best.Number, s.aim.name, nil
	for _, g := range s.groups {
		u, err := (&runner{red: g.Reducer}).usage(ctx)
		if err != nil {
			return nil, err
		}
		if s.used(u); g.base && g.rows != nil && g.fold == s.job.Folds() {
			res.Encoded = g.rows.leave()
		}
	}
	res.Usage, res.Elapsed = s.usages, s.in.Now().Sub(s.start)
	return res, nil
}

// last trains the best trial's settings on all rows; those of all that succeeded if all are kept.
func (s *searcher) last(ctx context.Context) error {
	var list []trialModel
	for _, t := range s.trials {
		if t.State == TrialSucceeded {
			list = append(list, trialModel{KeptTrial{Number: t.Number}, t.settle(t.Rung, 1)})
		}
	}
	slices.SortFunc(list, func(a, b trialModel) int {
		if a.better(b) {
			return -1
		}
		return 1
	})
	if !s.spec.keep {
		list = list[:min(1, len(list))]
	}
	for _, m := range list {
		if slices.ContainsFunc(s.models, func(k trialModel) bool { return k.Number == m.Number }) {
			continue
		}
		if err := s.whole(ctx, s.trials[m.Number-1], m.loss); err != nil {
			return err
		}
		if err := s.saveHead(ctx, m.Number, s.head(0, 0)); err != nil {
			return err
		}
	}
	return nil
}

// whole trains a trial's settings on all rows.
func (s *searcher) whole(ctx context.Context, t *trial, loss float64) error {
	folds := s.job.Folds()
	g, err := s.encoded(ctx, t.job, string(t.job.Encoding()), folds, 0)
	if read, ok := err.(readError); ok {
		err = read.error
	}
	if err != nil {
		return err
	}
	r, err := s.ofRows(ctx, s.lanes[0], g, t.job, "")
	if err != nil {
		return err
	}
	r.head, r.in.Resume = s.head(t.Number, folds), s.resumed(t.Number, folds)
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.iterate(ctx); err != nil {
		return err
	}
	p, err := r.driver.Predictor()
	if err != nil {
		return err
	}
	return s.keep(ctx, r, t.Number, loss, r.result(p, t.Metrics))
}

// errAllFailed returns the error of a search without a model: that of the first trial that failed,
// or else was cancelled.
func (s *searcher) errAllFailed() error {
	for _, state := range []TrialState{TrialFailed, TrialCancelled} {
		if i := slices.IndexFunc(s.trials, func(t *trial) bool { return t.State == state }); i >= 0 {
			e := *pgerr.From(s.trials[i].err)
			return e.WithDetail("No trial of %d has a model; this is the error of trial %d.", len(s.trials), i+1)
		}
	}
	return pgerr.Internal("a search ended without a model")
}

// head writes what is known, before the state of the run in hand: of trial number without a
// fold, or of none if it is 0.
func (s *searcher) head(number, fold int) func(*canon.E) {
	return func(e *canon.E) {
		e.I64(s.in.Rows)
		e.Int(number)
		e.Int(fold)
		name := ""
		if s.aim != nil {
			name = s.aim.name
		}
		e.Str(name)
		e.Str(s.lanes[0].chain.of)
		e.Bytes(s.lanes[0].chain.state)
		encodeTrials(e, s.trials)
		e.U32(uint32(len(s.models)))
		for _, m := range s.models {
			e.Int(m.Number)
			e.F64(m.loss)
			encodeResult(e, m.Result)
		}
		if number == 0 {
			list := s.chains
			for _, l := range s.lanes[1:] {
				list = append(slices.Clip(list), l.chain)
			}
			for _, c := range list {
				if c.of != "" {
					e.Str(c.of)
					e.Bytes(c.state)
				}
			}
		}
	}
}

// restore reads a checkpoint. Known trials get the rest from the algorithm, which is told
// of them again.
func (s *searcher) restore() error {
	d := canon.Read(s.in.Resume)
	rows := d.I64()
	s.resumeOf, s.resumeFold = d.Int(), d.Int()
	name := d.Str()
	s.lanes[0].chain = chain{d.Str(), d.Bytes()}
	s.trials = decodeTrials(d)
	kept := int64(len(s.lanes[0].chain.state))
	for range d.Count(24) {
		m := trialModel{KeptTrial{Number: d.Int()}, d.F64()}
		if m.Result = decodeResult(d); m.Result == nil {
			break
		}
		kept += m.Model.Predictor.Bytes()
		s.models = append(s.models, m)
	}
	for s.resumeOf == 0 && d.Left() > 0 { // of trials side by side
		c := chain{d.Str(), d.Bytes()}
		kept += int64(len(c.state))
		s.chains = append(s.chains, c)
	}
	s.in.Resume = d.Take(d.Left())
	err := d.Done("a training checkpoint")
	for _, t := range s.trials {
		if len(t.runs) != max(s.job.Folds(), 1) {
			rows = -1
		}
	}
	if err == nil && name != "" && s.aim == nil {
		if s.aim, err = aimOf(s.job, name); err != nil {
			err = pgerr.Wrap(pgerr.DataCorrupted, err, "a training checkpoint has another objective")
		}
	}
	switch {
	case err != nil:
		return err
	case rows != s.in.Rows:
		return pgerr.New(pgerr.DataCorrupted, "the checkpoint belongs to another training")
	}
	if len(s.in.Resume) == 0 || s.resumeOf == 0 {
		s.in.Resume = nil
	}
	for _, t := range s.trials {
		for _, r := range t.runs {
			kept += int64(len(r.paused))
		}
	}
	return s.hold(kept)
}
