package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/search"
)

// chain is where the last trial of a regularisation path ended.
type chain struct {
	of    string // the path
	state []byte // what a family.Follower left
}

// step is a trial of a batch, and the path that it is of; "" for none.
type step struct {
	search.Trial
	path     string
	strength float64
	longest  *Job // of which the trial is a prefix, perhaps itself; nil where it is none
}

// steps returns trials in the order in which they are trained: by number, except that
// those of one path, which differ in their penalty only, follow each other from the
// strongest penalty on, where the first of them stands; and so do prefixes of one
// training, from the shortest on.
func (s *searcher) steps(list []search.Trial) []step {
	out := make([]step, 0, len(list))
	first := map[string]int{}
	for _, b := range list {
		x := stepOf(s.trials[b.Number-1].job, b)
		if _, ok := first[x.path]; !ok {
			first[x.path] = b.Number
		}
		out = append(out, x)
	}
	longest := map[string]*Job{}
	for _, x := range out {
		if l := longest[x.path]; x.longest != nil && (l == nil || l.MaxIterations() < x.longest.MaxIterations()) {
			longest[x.path] = x.longest
		}
	}
	for i, x := range out {
		if x.longest != nil {
			out[i].longest = longest[x.path]
		}
	}
	at := func(x step) int {
		if x.path == "" {
			return x.Number
		}
		return first[x.path]
	}
	slices.SortStableFunc(out, func(a, b step) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(b.strength, a.strength))
	})
	return out
}

// stepOf returns the step of a trial with a job.
func stepOf(j *Job, b search.Trial) step {
	x := step{Trial: b}
	if f, ok := j.Family.(family.Path); ok && b.Share == 1 && b.Rung == 0 {
		if strength, ok := f.Strength(j.Options); ok {
			var e canon.E
			j.Options.Without(f.PathOptions()).Encode(&e)
			x.path, x.strength = string(e.B), strength
		}
	}
	if of := prefixOf(j, b); of != "" {
		x.path, x.strength, x.longest = of, -float64(j.MaxIterations()), j
	}
	return x
}

// prefixOf names the training of which a trial is a prefix; "" where it is none.
func prefixOf(j *Job, t search.Trial) string {
	f, ok := j.Family.(family.Prefixes)
	if !ok || t.Share < 1 || t.Rung > 0 {
		return ""
	}
	name := f.PrefixOption(j.Options)
	if name == "" {
		return ""
	}
	var e canon.E
	j.Options.Without([]string{name}).Encode(&e)
	return string(e.B)
}

// prefixed is why a training that is a prefix ended: its iterations are made.
func (x step) prefixed(j *Job) string { return j.Family.(family.Prefixes).PrefixOption(j.Options) }

// follows has a driver begin where the trial before on the same path ended.
func (l *lane) follows(d family.Driver, path string) error {
	f, ok := d.(family.Follower)
	if !ok || path == "" || l.chain.of != path || len(l.chain.state) == 0 {
		return nil
	}
	return f.Follow(canon.Read(l.chain.state))
}

// leaves notes where a trial ended.
func (s *searcher) leaves(l *lane, d family.Driver, path string) error {
	f, ok := d.(family.Follower)
	if !ok || path == "" {
		return nil
	}
	var e canon.E
	f.Leave(&e)
	err := s.hold(int64(len(e.B) - len(l.chain.state)))
	l.chain = chain{path, e.B}
	return err
}

// pathOf names a path among those of all batches and folds.
func pathOf(x step, batch []search.Trial, fold int) string {
	if x.path == "" {
		return ""
	}
	return fmt.Sprintf("%d %d %s", batch[0].Number, fold, x.path)
}
