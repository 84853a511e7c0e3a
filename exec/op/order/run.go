package order

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// A run of a sort is its rows in order. Keys that are computed are written with
// them, as one more column; keys that are columns are encoded again when the
// rows come back, which costs less than their bytes.

// A batch of a run should take frameMost bytes, and frameLeast at least: as many are in
// memory as runs are merged. Few runs with long batches are read fastest; many runs that
// are merged at once with short ones are still far cheaper than rows written twice.
const (
	frameMost  = 256 << 10
	frameLeast = 16 << 10
	fanMost    = 128 // files a thread has open
	fanLeast   = 4
)

// mergeBytes is what a thread's batches of runs may take while they are merged.
func (o *sorter) mergeBytes() int64 { return o.s.rt.Pool.Limit() / int64(4*o.s.rt.Threads) }

// frameBytes is what a batch of a run should take.
func (o *sorter) frameBytes() int64 {
	return min(max(o.mergeBytes()/fanMost, frameLeast), frameMost)
}

func (o *sorter) runTypes() []arrow.DataType {
	dts := types.ArrowTypes(o.s.cfg.Types)
	if o.keysApart() {
		dts = append(dts, types.Bytea.Arrow())
	}
	return dts
}

// keysApart reports whether runs have a column of keys.
func (o *sorter) keysApart() bool {
	for _, k := range o.s.cfg.Keys[o.thread] {
		if k.Program != nil {
			return true
		}
	}
	return false
}

// spillRun writes what the thread has in memory as a run and forgets it. The
// account still has its bytes.
func (o *sorter) spillRun(ctx context.Context) error {
	per := max(1, o.acct.Used()/max(o.set.Rows(), 1))
	o.set.Flush()
	s := o.sorted()
	s.withKeys = o.keysApart()
	s.rows = o.runBatchRows(per)
	o.reset()
	return o.writeRun(ctx, s)
}

func (o *sorter) runBatchRows(per int64) int {
	return int(min(kernel.ChunkRows, max(1, o.frameBytes()/per)))
}

// outRows is how many rows of the thread's are to be given at a time.
func (o *sorter) outRows() int {
	per := o.rowBytes(o.runs)
	if o.set.Rows() > 0 {
		per = max(per, o.acct.Used()/o.set.Rows())
	}
	// a few batches are on their way between the threads, which nobody charges
	size := min(op.BatchBytes, max(o.mergeBytes()/8, o.frameBytes()))
	return int(max(1, min(int64(o.s.rt.Rows()), kernel.ChunkRows, size/per)))
}

func (o *sorter) writeRun(ctx context.Context, s sortedStream) error {
	run, err := o.newRun(ctx, s)
	if err == nil {
		o.runs = append(o.runs, run)
	}
	return err
}

// newRun writes what s gives.
func (o *sorter) newRun(ctx context.Context, s sortedStream) (*spill.Run, error) {
	w, err := o.s.rt.Spill.Create(o.runTypes())
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	for {
		sb, err := s.next(ctx)
		if err != nil {
			return nil, err
		}
		if sb == nil {
			break
		}
		cols := sb.b.Cols
		if o.keysApart() {
			cols = append(cols[:len(cols):len(cols)], keyColumn(sb.keys))
		}
		if err := w.Append(ctx, batch.New(cols, sb.b.N)); err != nil {
			return nil, err
		}
	}
	o.s.st.AddSpilled(w.Bytes())
	return w.Finish()
}

func keyColumn(k *kernel.Keys) arrow.Array {
	offs := make([]int32, k.N+1)
	for i := range offs {
		if k.Width > 0 {
			offs[i] = int32(i * k.Width)
		} else {
			offs[i] = int32(k.Offs[i])
		}
	}
	return batch.FromOffsets(types.Bytea.Arrow(), offs, k.Data, nil)
}

// openRuns returns streams of the thread's runs, after merging some where there are
// more than may be open at once beside others.
func (o *sorter) openRuns(ctx context.Context, others int) ([]sortedStream, error) {
	frame := max(o.frameBytes(), min(o.rowBytes(o.runs), op.BatchBytes))
	fan := int(min(fanMost, max(fanLeast, o.mergeBytes()/frame)))
	for len(o.runs) > fan-others {
		// The least number of runs that brings it down.
		if err := o.mergeRuns(ctx, min(fan, len(o.runs)-(fan-others)+1)); err != nil {
			return nil, err
		}
	}
	return o.streams(o.runs)
}

// mergeRuns makes one run of the n neighbours that have the fewest bytes. Neighbours,
// for equal rows keep their order; the fewest bytes, so that what was merged before is
// not merged again with the next few, and again with those after.
func (o *sorter) mergeRuns(ctx context.Context, n int) error {
	from, least := 0, int64(-1)
	for i := 0; i+n <= len(o.runs); i++ {
		size := int64(0)
		for _, r := range o.runs[i : i+n] {
			m, _ := r.Size()
			size += m
		}
		if least < 0 || size < least {
			from, least = i, size
		}
	}
	old := o.runs[from : from+n]
	in, err := o.streams(old)
	if err != nil {
		return err
	}
	m := newMerger(o.s.cfg.Types, in, o.runBatchRows(o.rowBytes(old)), o.keysApart())
	run, err := o.newRun(ctx, m)
	m.close()
	if err != nil {
		return err
	}
	spill.RemoveAll(old)
	o.runs = slices.Replace(o.runs, from, from+n, run)
	return nil
}

func (o *sorter) rowBytes(runs []*spill.Run) int64 {
	rows, size := int64(1), int64(1)
	for _, r := range runs {
		m, _ := r.Size()
		rows, size = rows+r.Rows(), size+m
	}
	return max(1, size/rows)
}

func (o *sorter) streams(runs []*spill.Run) ([]sortedStream, error) {
	var out []sortedStream
	for _, run := range runs {
		r, err := run.Open()
		if err != nil {
			for _, s := range out {
				s.close()
			}
			return nil, err
		}
		out = append(out, &runStream{o: o, r: r, width: o.enc.Width()})
	}
	return out, nil
}

// runStream reads a run. The batch it has given last is charged.
type runStream struct {
	o     *sorter
	r     *spill.Reader
	width int
	held  int64
}

func (s *runStream) next(ctx context.Context) (*sortedBatch, error) {
	b, err := s.r.Next(ctx)
	s.hold(0)
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.hold(b.Bytes())
	if !s.o.keysApart() {
		keys := &kernel.Keys{}
		cols := make([]arrow.Array, 0, len(s.o.s.cfg.Specs))
		for _, k := range s.o.s.cfg.Keys[s.o.thread] {
			cols = append(cols, b.Cols[k.Col])
		}
		s.o.enc.Append(keys, cols, b.N)
		return &sortedBatch{b: b, keys: keys}, nil
	}
	n := len(b.Cols) - 1
	k := b.Cols[n].(*array.Binary)
	keys := &kernel.Keys{N: b.N, Width: s.width, Data: k.ValueBytes()}
	if s.width == 0 {
		keys.Offs = make([]uint64, b.N+1)
		for i, o := range k.ValueOffsets() {
			keys.Offs[i] = uint64(o)
		}
	}
	return &sortedBatch{b: batch.New(b.Cols[:n:n], b.N), keys: keys}, nil
}

// hold charges what the batch given last takes.
func (s *runStream) hold(n int64) {
	s.o.acct.Shrink(s.held)
	s.o.open += n - s.held
	s.held = n
	s.o.acct.Take(n)
}

func (s *runStream) close() {
	s.hold(0)
	s.r.Close()
}
