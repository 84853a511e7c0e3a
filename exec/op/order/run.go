package order

import (
	"context"
	"io"

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

// frameBytes is what a batch of a run should take: as many are in memory as
// runs are merged.
const frameBytes = 256 << 10

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
	s := o.sorted().(*orderedSet)
	s.withKeys = o.keysApart()
	s.rows = runBatchRows(per)
	o.reset()
	o.sortedRows = orderedSet{}
	return o.writeRun(ctx, s)
}

func runBatchRows(per int64) int { return int(min(kernel.ChunkRows, max(1, frameBytes/per))) }

// outRows is how many rows of the thread's are to be given at a time.
func (o *sorter) outRows() int {
	per := o.rowBytes(o.runs)
	if o.set.Rows() > 0 {
		per = max(per, o.acct.Used()/o.set.Rows())
	}
	return int(max(1, min(int64(o.s.rt.Rows()), kernel.ChunkRows, op.BatchBytes/per)))
}

func (o *sorter) writeRun(ctx context.Context, s sortedStream) error {
	w, err := o.s.rt.Spill.Create(o.runTypes())
	if err != nil {
		return err
	}
	defer w.Abort()
	for {
		sb, err := s.next(ctx)
		if err != nil {
			return err
		}
		if sb == nil {
			break
		}
		cols := sb.b.Cols
		if o.keysApart() {
			cols = append(cols[:len(cols):len(cols)], keyColumn(sb.keys))
		}
		if err := w.Append(ctx, batch.New(cols, sb.b.N)); err != nil {
			return err
		}
	}
	o.s.st.AddSpilled(w.Bytes())
	run, err := w.Finish()
	if err != nil {
		return err
	}
	o.runs = append(o.runs, run)
	return nil
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
	frame := max(frameBytes, min(o.rowBytes(o.runs), op.BatchBytes))
	fan := int(min(64, max(4, o.s.rt.Pool.Limit()/int64(8*o.s.rt.Threads)/frame)))
	for len(o.runs) > fan-others {
		// The least number of runs that brings it down, the shortest first,
		// would move fewer rows; the oldest first keeps equal rows in order.
		n := min(fan, len(o.runs)-(fan-others)+1)
		old := o.runs[:n]
		rest := append([]*spill.Run(nil), o.runs[n:]...)
		in, err := o.streams(old)
		if err != nil {
			return nil, err
		}
		m := newMerger(o.s.cfg.Types, in, runBatchRows(o.rowBytes(old)), o.keysApart())
		o.runs = nil
		err = o.writeRun(ctx, m)
		m.close()
		if err != nil {
			o.runs = append(old, rest...)
			return nil, err
		}
		spill.RemoveAll(old)
		o.runs = append(o.runs, rest...)
	}
	return o.streams(o.runs)
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
