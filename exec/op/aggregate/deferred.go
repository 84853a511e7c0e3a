package aggregate

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// A thread whose groups do not repeat much stops making them once its table has outgrown the cache:
// it defers rows, packed keys and what aggregates read, in chunks that are in the order of the
// hash. Groups are then made by radix partitions of the hash (radix.go), of a size that the table
// of one fits the cache: no state is made twice, and memory outside the cache is only read
// sequentially.

// deferGroups is how many groups outgrow the cache, about, and the rows of a chunk.
const deferGroups = 64 << 10

// deferQuarters: rows are deferred where a group has at most so many quarters of a row on average,
// as counted since the table had half as many groups.
const deferQuarters = 5

// deferRepeats is how many rows a group may have until nothing is deferred any more: a table takes
// less memory than the rows. Without columns for aggregates, as for DISTINCT or count(*), a row is
// a few words, and a group takes several times as much in the tables of all threads.
const (
	deferRepeats     = 2
	deferKeysRepeats = 6
)

// deferRule decides when rows are deferred.
type deferRule struct {
	able bool // the aggregates may add rows later
	on   bool // rows are deferred
	keys bool // aggregates read no columns
	// sieve: rows of groups that the table has are added to these, only the others are deferred. A
	// few groups that have most rows stay in the cache.
	sieve  bool
	rows   int // added since groups were counted last
	groups int // of the table then
	// seen are the distinct hashes of a sample, about one in 256 since then.
	seen    map[uint64]struct{}
	sampled int
}

// canDefer reports whether all aggregates can add rows later: not with a filter, which is computed
// from other columns, nor if they keep their rows, which are charged as they come in.
func (o *aggThread) canDefer(aggs []agg.Agg) bool {
	return o.s.sets == nil && len(o.s.keyTypes) > 0 &&
		!slices.ContainsFunc(aggs, func(a agg.Agg) bool { _, holistic := a.(agg.Holistic); return holistic }) &&
		!slices.ContainsFunc(o.inputs, func(in aggInput) bool { return in.filter != nil })
}

// repeats counts n more rows that are in the table, and decides whether the next are to be
// deferred.
func (o *aggThread) repeats(n int) {
	r, t := &o.rule, o.t
	if !r.able || !t.hashed() {
		return
	}
	r.rows += n
	if t.n() < max(deferGroups, 2*r.groups) {
		return
	}
	r.on = 4*r.rows < deferQuarters*(t.n()-r.groups)
	if !r.on && r.keys {
		r.on, r.sieve = true, true
	}
	r.rows, r.groups = 0, t.n()
	if r.on {
		r.seen = map[uint64]struct{}{}
	}
	if r.on && !r.sieve {
		r.sample(t.hashes)
	}
}

// sample adds some of the hashes to the sample. Where each group has come too often on average,
// nothing is deferred any more.
func (r *deferRule) sample(hashes []uint64) {
	for _, h := range hashes {
		if h>>32&255 == 0 {
			r.seen[h] = struct{}{}
			r.sampled++
		}
	}
	most := deferRepeats
	if r.keys {
		most = deferKeysRepeats
	}
	if r.sampled > most*len(r.seen) {
		r.able, r.on = false, false
	}
}

// deferredRows are the rows whose grouping a thread has deferred.
type deferredRows struct {
	chunks []deferredChunk
	rows   int
	bytes  int64 // of the chunks
	// The rows that wait for a chunk, and columns of them by batches.
	words, hashes []uint64
	cols          [][]arrow.Array
	colBytes      int64
	all           []int32
}

// deferredChunk are rows in the order of the upper bits of their hashes: those of bits p are
// starts[p] to starts[p+1].
type deferredChunk struct {
	words, hashes []uint64
	cols          []arrow.Array // of aggInput.kept, then the keys that groupValues keeps
	starts        []uint32
}

// deferredShift leaves the bits of a hash by which chunks are in order.
const deferredShift = 64 - radixBits

func (a *deferredRows) waiting() int64 { return 8*int64(cap(a.words)+cap(a.hashes)) + a.colBytes }

func (a *deferredRows) held() int64 { return a.bytes + a.waiting() }

// keep finds the places of what aggregates read among the columns of deferred rows.
func (o *aggThread) keep() {
	place := map[int]int{}
	for i := range o.inputs {
		in := &o.inputs[i]
		from := in.at
		if o.s.n.Phase == plan.AggFinal {
			from = []int{in.state}
		}
		for _, at := range from {
			if _, ok := place[at]; !ok {
				place[at] = len(o.kept)
				o.kept = append(o.kept, at)
			}
			in.kept = append(in.kept, place[at])
		}
	}
}

// keptColumns returns the columns of deferred rows.
func (o *aggThread) keptColumns(r *aggRows, keys []arrow.Array) []arrow.Array {
	var out []arrow.Array
	for _, at := range o.kept {
		if o.s.n.Phase != plan.AggFinal {
			out = append(out, r.vals[at])
		} else if r.b.Sel != nil {
			out = append(out, kernel.Take(r.b.Cols[at], r.b.Sel))
		} else {
			out = append(out, r.b.Cols[at])
		}
	}
	if o.t.values != nil {
		for _, k := range o.t.values.keys {
			out = append(out, keys[k])
		}
	}
	return out
}

// deferRows keeps rows to be grouped later.
func (o *aggThread) deferRows(ctx context.Context, r *aggRows, keys []arrow.Array) error {
	cols := o.keptColumns(r, keys)
	var colBytes int64
	for _, c := range cols {
		colBytes += batch.ArrayBytes(c)
	}
	// A chunk is made beside the rows that it is of.
	need := 2 * (int64(r.n)*8*int64(o.t.width+1) + colBytes)
	if err := o.claim(ctx, o.deferred.waiting()+need, need); err != nil {
		return err
	}
	if !o.rule.on { // the rows were spilled, and it begins anew
		return o.add(ctx, r, nil, -1)
	}
	t, a := o.t, &o.deferred
	t.rows, t.hbuf = t.pack.Pack(keys, r.n, t.rows, t.hbuf)
	n := r.n
	if o.rule.sieve {
		var err error
		if n, err = t.addKnown(); err != nil {
			return err
		}
	}
	a.words = append(doubled(a.words, len(t.rows)), t.rows...)
	a.hashes = append(doubled(a.hashes, n), t.hbuf...)
	for i := len(a.all); i < r.n; i++ {
		a.all = append(a.all, int32(i))
	}
	if a.cols == nil {
		a.cols = make([][]arrow.Array, len(cols))
	}
	for i, c := range cols {
		a.cols[i] = append(a.cols[i], kernel.Take(c, a.all[:r.n]))
	}
	a.colBytes += colBytes
	a.rows += n
	o.rule.sample(t.hbuf)
	if len(a.hashes) >= deferGroups || a.colBytes >= 2*op.BatchBytes {
		a.cut()
	}
	return o.resizeAccount(ctx)
}

// addKnown adds those of the rows just packed whose groups the table has, for aggregates that read no
// columns, and returns how many others there are, which it leaves in the place of all.
func (t *groupTable) addKnown() (int, error) {
	known, misses := t.known(t.rows, t.hbuf, t.room(len(t.hbuf)))
	w := t.width
	for m, i := range misses {
		t.hbuf[m] = t.hbuf[i]
		to := t.rows[m*w:][:w]
		for k, x := range t.rows[int(i)*w:][:w] {
			to[k] = x
		}
	}
	t.rows, t.hbuf = t.rows[:len(misses)*w], t.hbuf[:len(misses)]
	for _, a := range t.aggs {
		if err := a.Update(known, nil); err != nil {
			return 0, err
		}
	}
	return len(misses), nil
}

// cut makes a chunk of the rows that wait for one.
func (a *deferredRows) cut() {
	n := len(a.hashes)
	if n == 0 {
		return
	}
	p := deferredChunk{starts: make([]uint32, 1<<radixBits+1)}
	for _, h := range a.hashes {
		p.starts[h>>deferredShift+1]++
	}
	for i := range p.starts[1:] {
		p.starts[i+1] += p.starts[i]
	}
	at, order := slices.Clone(p.starts), make([]int32, n)
	for i, h := range a.hashes {
		to := &at[h>>deferredShift]
		order[*to] = int32(i)
		*to++
	}
	w := len(a.words) / n
	p.words, p.hashes = make([]uint64, len(a.words)), make([]uint64, n)
	for i, j := range order {
		p.hashes[i] = a.hashes[j]
		// A row is a few words: to call for a copy takes longer than to make it.
		to := p.words[i*w:][:w]
		for k, x := range a.words[int(j)*w:][:w] {
			to[k] = x
		}
	}
	p.cols = a.waitingColumns()
	a.bytes += 8*int64(len(p.words)+len(p.hashes)) + 4*int64(len(p.starts))
	for i, c := range p.cols {
		p.cols[i] = kernel.Take(c, order)
		a.bytes += batch.ArrayBytes(p.cols[i])
	}
	a.chunks = append(a.chunks, p)
	a.words, a.hashes, a.cols, a.colBytes = a.words[:0], a.hashes[:0], nil, 0
}

func (a *deferredRows) waitingColumns() []arrow.Array {
	out := make([]arrow.Array, len(a.cols))
	for i, list := range a.cols {
		out[i] = kernel.Concat(list[0].DataType(), list)
	}
	return out
}

// spillDeferred writes the groups of the deferred rows to partitions.
func (o *aggThread) spillDeferred(ctx context.Context) error {
	chunks := o.deferred.chunks
	if len(o.deferred.hashes) > 0 {
		chunks = append(chunks, deferredChunk{words: o.deferred.words, hashes: o.deferred.hashes, cols: o.deferred.waitingColumns()})
	}
	for i := range chunks {
		p := &chunks[i]
		for from := 0; from < len(p.hashes); from += kernel.ChunkRows {
			aggs, err := o.newAggs()
			if err != nil {
				return err
			}
			t := newGroupTable(o.s.keyTypes, aggs)
			t.pack, t.rng, t.numbers = o.t.pack, nil, nil
			if err := o.takeIn(t, p, from, min(from+kernel.ChunkRows, len(p.hashes))); err != nil {
				return err
			}
			bytes := t.bytes() - t.pack.Bytes()
			o.acct.Take(bytes) // it gives way at once
			err = writeGroups(ctx, t, o.parts)
			o.acct.Shrink(bytes)
			if err != nil {
				return err
			}
		}
		*p = deferredChunk{}
	}
	return nil
}

// takeIn groups rows [from, to) of a chunk.
func (o *aggThread) takeIn(t *groupTable, p *deferredChunk, from, to int) error {
	groups := t.put(p.words[from*t.width:to*t.width], p.hashes[from:to])
	cols := make([]arrow.Array, len(p.cols))
	for i, c := range p.cols {
		cols[i] = array.NewSlice(c, int64(from), int64(to))
	}
	t.values.add(groups, func(k int, rows []int32) arrow.Array {
		return kernel.Take(cols[len(o.kept)+t.values.of(k)], rows)
	})
	for i, a := range t.aggs {
		a.Resize(t.n())
		in := &o.inputs[i]
		args := make([]arrow.Array, len(in.kept))
		for k, at := range in.kept {
			args[k] = cols[at]
		}
		var err error
		if o.s.n.Phase != plan.AggFinal {
			err = a.Update(groups, args)
		} else if st, ok := args[0].(*array.Binary); ok {
			err = a.MergeStates(groups, st)
		} else {
			err = pgerr.Internal("aggregate states are %s", args[0].DataType())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
