package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var ctx = context.Background()

func open(t testing.TB, remote store.Remote) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Dir: t.TempDir(), Node: 7, Remote: remote})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// cols has every representation of a column.
var cols = []store.WriterColumn{
	{Num: 1, Type: types.Int4}, {Num: 2, Type: types.Text}, {Num: 3, Type: types.Text}, {Num: 5, Type: types.FixedNumeric(12, 2, true)},
	{Num: 6, Type: types.Numeric}, {Num: 7, Type: types.Bool}, {Num: 8, Type: types.Float8}, {Num: 9, Type: types.Bytea},
	{Num: 10, Type: types.Timestamp}, {Num: 11, Type: types.UUID}, {Num: 12, Type: types.IntervalT}, {Num: 13, Type: types.Int2},
	{Num: 14, Type: types.Type{OID: 1007, Mod: -1}}, {Num: 15, Type: types.Date}, {Num: 16, Type: types.JSONB},
}

func randomDatum(r *rand.Rand, c store.WriterColumn, i int) types.Datum {
	if r.IntN(9) == 0 {
		return nil
	}
	switch c.Num {
	case 1:
		return int64(i)
	case 2:
		return fmt.Sprint("low", r.IntN(5)) // few distinct values
	case 3:
		return fmt.Sprint("high", r.Int64(), strings.Repeat("x", r.IntN(20)))
	case 5:
		return number.DecimalFromInt64(r.Int64N(1e9), 2)
	case 6:
		d, _ := number.ParseDecimal(fmt.Sprintf("%d.%d", r.Int64(), r.IntN(1000)))
		return d
	case 7:
		return r.IntN(2) == 0
	case 8:
		return []float64{1.5, math.NaN(), math.Inf(1), -2}[r.IntN(4)]
	case 9:
		return []byte{byte(i), 0, 255}[:r.IntN(4)]
	case 10, 15:
		return int64(r.IntN(10000))
	case 11:
		return [16]byte{byte(i), 1}
	case 12:
		return datetime.Interval{Months: int32(i), Micros: 5}
	case 13:
		return int64(int16(i))
	case 14:
		return types.Array{Elem: types.Int4, Elems: []types.Datum{int64(i), nil, int64(2)}[:1+r.IntN(3)]}
	}
	return `{"a": 1}`
}

// rows are a table as datums.
type rows [][]types.Datum

func randomRows(r *rand.Rand, n int) rows {
	out := make(rows, n)
	for i := range out {
		for _, c := range cols {
			out[i] = append(out[i], randomDatum(r, c, i))
		}
	}
	return out
}

func toBatch(t testing.TB, in rows, dict bool) *batch.Batch {
	t.Helper()
	return batchOf(t, cols, in, dict)
}

func batchOf(t testing.TB, cols []store.WriterColumn, in rows, dict bool) *batch.Batch {
	t.Helper()
	var arrs []arrow.Array
	for j, c := range cols {
		dt := c.Type.Arrow()
		if dict && c.Type.IsString() {
			dt = types.DictArrow
		}
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		for _, row := range in {
			if err := types.AppendDatum(b, c.Type, row[j]); err != nil {
				t.Fatal(err)
			}
		}
		arrs = append(arrs, b.NewArray())
	}
	return batch.New(arrs, len(in))
}

func scanOf(cs []store.WriterColumn) *plan.Scan {
	s := &plan.Scan{}
	for i, c := range cs {
		s.Cols = append(s.Cols, plan.Column{ID: expr.ColID(i + 1), Type: c.Type, Num: c.Num})
	}
	return s
}

func manifest(segs ...*catalog.Segment) *catalog.Manifest {
	return &catalog.Manifest{Partitions: [][]*catalog.Segment{segs}}
}

// readAll reads a snapshot by splits of a few rows.
func readAll(t testing.TB, s *store.Store, scan *plan.Scan, m *catalog.Manifest, splitRows int64, batchRows int) (out rows, ids []int64) {
	t.Helper()
	pin := s.Pin(batchRows)
	defer pin.Close()
	return readSplits(t, pin, scan, store.Splits(m, 0, splitRows, nil))
}

func readSplits(t testing.TB, pin *store.Pin, scan *plan.Scan, splits []op.Split) (out rows, ids []int64) {
	t.Helper()
	for _, sp := range splits {
		r, err := pin.Open(ctx, scan, &sp, &function.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			more, at := rowsOf(scan, b)
			out, ids = append(out, more...), append(ids, at...)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out, ids
}

func contains(sel []int32, i int) bool {
	_, ok := slices.BinarySearch(sel, int32(i))
	return ok
}

// rowsOf returns the rows of a batch, and their ids.
func rowsOf(scan *plan.Scan, b *batch.Batch) (out rows, ids []int64) {
	for i := range b.N {
		if b.Sel != nil && !contains(b.Sel, i) {
			continue
		}
		var row []types.Datum
		for j, c := range scan.Cols {
			row = append(row, types.DatumAt(c.Type, b.Cols[j], i))
		}
		out = append(out, row)
		ids = append(ids, b.Seq+int64(i))
	}
	return out, ids
}

func same(a, b rows) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		for j := range a[i] {
			if !bytes.Equal(codec.AppendDatum(nil, a[i][j]), codec.AppendDatum(nil, b[i][j])) {
				return false
			}
		}
	}
	return true
}

func TestWriteRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pool := mem.NewPool("n", 0)
	for _, n := range []int{1, 7, 100, 3000} {
		for _, dict := range []bool{false, true} {
			for _, o := range []store.WriterOptions{{}, {InlineBytes: -1}, {InlineBytes: -1, GroupRows: 256, SegmentRows: 1000}, {InlineBytes: -1, GroupRows: 512, Compress: true}} {
				s := open(t, nil)
				want := randomRows(r, n)
				o.Columns = cols
				o.Account = pool.Account("w", false)
				w := s.NewWriter(o)
				for at := 0; at < n; {
					k := min(1+r.IntN(700), n-at)
					b := toBatch(t, want[at:at+k], dict)
					switch r.IntN(3) {
					case 0: // with a selection vector: other rows lie between and behind
						var mixed rows
						var sel []int32
						for _, row := range want[at : at+k] {
							if r.IntN(4) == 0 {
								mixed = append(mixed, want[r.IntN(n)])
							}
							sel = append(sel, int32(len(mixed)))
							mixed = append(mixed, row)
						}
						b = toBatch(t, append(mixed, want[:k]...), dict)
						b.Sel = sel
					case 1: // a slice that does not begin at the first row
						first := min(1+r.IntN(9), n)
						b = toBatch(t, append(append(rows{}, want[:first]...), want[at:at+k]...), dict).Slice(first, first+k)
					}
					if err := w.Write(ctx, b); err != nil {
						t.Fatal(err)
					}
					at += k
				}
				segs, err := w.Finish(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if o.Account.Used() != 0 {
					t.Fatal("account not empty")
				}
				o.Account.Close()
				if n == 3000 && o.SegmentRows == 1000 && len(segs) != 3 {
					t.Fatalf("%d segments", len(segs))
				}
				for _, split := range []int64{0, 100} {
					got, _ := readAll(t, s, scanOf(cols), manifest(segs...), split, []int{0, 3, 1000}[r.IntN(3)])
					if !same(got, want) {
						t.Fatalf("n=%d dict=%v %+v: rows differ", n, dict, o)
					}
				}
				checkZones(t, segs, want)
			}
		}
	}
}

// checkZones compares the zone maps of segments with their rows.
func checkZones(t *testing.T, segs []*catalog.Segment, want rows) {
	t.Helper()
	at := 0
	for _, s := range segs {
		part := want[at : at+int(s.Rows)]
		at += int(s.Rows)
		for j, z := range s.Zones {
			ty := cols[j].Type
			nulls := int64(0)
			var lo, hi types.Datum
			for _, row := range part {
				d := row[j]
				if d == nil {
					nulls++
					continue
				}
				if lo == nil || types.Compare(ty, d, lo) < 0 {
					lo = d
				}
				if hi == nil || types.Compare(ty, d, hi) > 0 {
					hi = d
				}
			}
			if z.Nulls != nulls || z.Column != cols[j].Num {
				t.Fatalf("column %d: %+v, %d NULLs", j, z, nulls)
			}
			if z.Min != nil && types.Compare(ty, z.Min, lo) != 0 || z.Max != nil && types.Compare(ty, z.Max, hi) != 0 {
				t.Fatalf("column %d: %+v, want %v..%v", j, z, lo, hi)
			}
			if simple := j == 0 || j == 1 || j == 3 || j == 4 || j == 6; simple && lo != nil && (z.Min == nil || z.Max == nil) {
				t.Fatalf("column %d: no bounds", j)
			}
			if j == 2 && s.Rows > 500 && (float64(z.Distinct) < 0.85*float64(s.Rows-nulls) || z.Distinct > s.Rows-nulls) {
				t.Fatalf("distinct %d of %d", z.Distinct, s.Rows-nulls)
			}
		}
	}
}

func TestLargeGroups(t *testing.T) {
	s := open(t, nil)
	w := s.NewWriter(store.WriterOptions{Columns: []store.WriterColumn{{Num: 1, Type: types.Int8}, {Num: 2, Type: types.Text}}})
	const n = 300_000
	ids := make([]int64, n)
	offs := make([]int32, n+1)
	var data []byte
	for i := range ids {
		ids[i] = int64(i)
		if i < 150_000 {
			data = append(data, byte('a'+i%7)) // few distinct values at first, dictionary-encoded
		} else {
			data = fmt.Append(data, i) // then all distinct
		}
		offs[i+1] = int32(len(data))
	}
	b := batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, ids, nil), batch.FromOffsets(arrow.BinaryTypes.String, offs, data, nil)}, n)
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil || len(segs) != 1 || segs[0].Rows != n {
		t.Fatal(segs, err)
	}
	if d := segs[0].Zones[0].Distinct; d < n*9/10 || d > n {
		t.Fatal("distinct", d)
	}
	pin := s.Pin(0)
	defer pin.Close()
	scan := scanOf([]store.WriterColumn{{Num: 1, Type: types.Int8}, {Num: 2, Type: types.Text}})
	next, dicts := int64(0), 0
	for _, sp := range store.Splits(manifest(segs...), 0, 0, nil) {
		r, err := pin.Open(ctx, scan, &sp, &function.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if b.Cols[1].DataType().ID() == arrow.DICTIONARY {
				dicts++
			}
			v := b.Cols[0].(*array.Int64).Int64Values()
			str := batch.StringsOf(b.Cols[1])
			for i, x := range v {
				if x != next {
					t.Fatal(x, next)
				}
				if want := string(data[offs[x]:offs[x+1]]); str.Value(i) != want {
					t.Fatal(str.Value(i), want)
				}
				next++
			}
		}
	}
	if next != n || dicts == 0 {
		t.Fatal(next, dicts)
	}
}

func TestMissingColumnAndRowID(t *testing.T) {
	s := open(t, nil)
	w := s.NewWriter(store.WriterOptions{Columns: cols[:1], InlineBytes: -1})
	in := randomRows(rand.New(rand.NewPCG(1, 1)), 10)
	b := toBatch(t, in, false)
	if err := w.Write(ctx, batch.New(b.Cols[:1], 10)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scan := &plan.Scan{Cols: []plan.Column{{ID: 1, Num: 90, Type: types.Text}, {ID: 2, Num: 91, Type: types.Int4}}, Missing: []types.Datum{"was", nil}, RowID: 3}
	pin := s.Pin(4)
	defer pin.Close()
	r, err := pin.Open(ctx, scan, &op.Split{Segment: segs[0], Ordinal: 3, From: 2, To: 10}, &function.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Next(ctx)
	if err != nil || got.N != 4 || len(got.Cols) != 3 {
		t.Fatal(got, err)
	}
	if batch.StringsOf(got.Cols[0]).Value(1) != "was" || got.Cols[1].NullN() != 4 || got.Cols[2].(*array.Int64).Value(0) != store.RowID(3, 2) {
		t.Fatal(got.Cols)
	}
	// Another physical type is an error, not garbage.
	scan = &plan.Scan{Cols: []plan.Column{{ID: 1, Num: 1, Type: types.Float8}}}
	if _, err := pin.Open(ctx, scan, &op.Split{Segment: segs[0], To: 10}, &function.Env{}, nil); !pgerr.Is(err, pgerr.InternalError) {
		t.Fatal(err)
	}
}

func TestDeleted(t *testing.T) {
	s := open(t, nil)
	r := rand.New(rand.NewPCG(3, 3))
	in := randomRows(r, 2000)
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 512})
	if err := w.Write(ctx, toBatch(t, in, false)); err != nil {
		t.Fatal(err)
	}
	segs, _ := w.Finish(ctx)
	seg := *segs[0]
	gone := map[int]bool{}
	for range 3 {
		var del []uint32
		for range 200 {
			i := r.IntN(2000)
			gone[i] = true
			del = append(del, uint32(i))
		}
		for i := 600; i < 700; i++ {
			gone[i] = true
			del = append(del, uint32(i))
		}
		var err error
		if seg.Deleted, seg.DeletedRows, err = store.AddDeleted(&seg, del); err != nil || seg.DeletedRows != int64(len(gone)) {
			t.Fatal(seg.DeletedRows, len(gone), err)
		}
	}
	var want rows
	for i, row := range in {
		if !gone[i] {
			want = append(want, row)
		}
	}
	got, ids := readAll(t, s, scanOf(cols), manifest(&seg), 300, 64)
	if !same(got, want) {
		t.Fatal("rows differ")
	}
	for _, id := range ids {
		if gone[int(id)] {
			t.Fatal("deleted row", id)
		}
	}
	// Compaction keeps the live rows, in order.
	rel := &catalog.Relation{OID: 1, Name: "t"}
	for _, c := range cols {
		rel.Columns = append(rel.Columns, catalog.Column{Num: c.Num, Type: c.Type})
	}
	ch, err := s.Compact(ctx, rel, 0, []*catalog.Segment{&seg, &seg}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _ = readAll(t, s, scanOf(cols), manifest(ch.New...), 0, 0)
	if !same(got, append(append(rows{}, want...), want...)) || ch.Old[0].DeletedRows != seg.DeletedRows {
		t.Fatal("compacted rows differ")
	}
	// A cancelled compaction leaves no file behind.
	had, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	stop, asked := errors.New("stop"), 0
	_, err = s.Compact(ctx, rel, 0, []*catalog.Segment{&seg, &seg}, nil, nil, func(_ context.Context, rows int) error {
		if asked += rows; asked > len(want) {
			return stop
		}
		return nil
	})
	if left, e := s.List(); !errors.Is(err, stop) || e != nil || len(left) != len(had) {
		t.Fatalf("%v; %d files, %d before; %v", err, len(left), len(had), e)
	}
}

func TestPlanCompaction(t *testing.T) {
	seg := func(rows, deleted int64) *catalog.Segment { return &catalog.Segment{Rows: rows, DeletedRows: deleted} }
	var segs []*catalog.Segment
	if got := store.PlanCompaction(segs, 0); got != nil {
		t.Fatal(got)
	}
	segs = append(segs, seg(1<<20, 0), seg(1000, 400))
	for range 10 {
		segs = append(segs, seg(1, 0))
	}
	if got := fmt.Sprint(store.PlanCompaction(segs, 0)); got != "[{2 12} {1 2}]" {
		t.Fatal(got)
	}
	// Rows are rewritten a logarithmic number of times.
	segs = nil
	written := int64(0)
	for range 20000 {
		segs = append(segs, seg(1, 0))
		for _, run := range store.PlanCompaction(segs, 0) {
			n := int64(0)
			for _, s := range segs[run.From:run.To] {
				n += s.Rows
			}
			written += n
			segs = append(append(append([]*catalog.Segment{}, segs[:run.From]...), seg(n, 0)), segs[run.To:]...)
			break
		}
	}
	if written > 20000*8 || len(segs) > 60 {
		t.Fatal(written, len(segs))
	}
}

// repairer is a Remote with a good copy of each file.
type repairer struct {
	s     *store.Store
	good  map[catalog.SegmentID][]byte
	calls int
}

func (m *repairer) Fetch(_ context.Context, seg *catalog.Segment) error {
	m.calls++
	in, err := m.s.Receive(seg)
	if err != nil {
		return err
	}
	if _, err := in.Write(m.good[seg.ID]); err != nil {
		return err
	}
	return in.Commit()
}
func (m *repairer) Repair(ctx context.Context, seg *catalog.Segment) error { return m.Fetch(ctx, seg) }

func TestCorruption(t *testing.T) {
	dir := t.TempDir()
	m := &repairer{good: map[catalog.SegmentID][]byte{}}
	s, err := store.Open(store.Options{Dir: dir, Node: 1, Remote: m})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.s = s
	want := randomRows(rand.New(rand.NewPCG(5, 5)), 900)
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 256})
	if err := w.Write(ctx, toBatch(t, want, true)); err != nil {
		t.Fatal(err)
	}
	segs, _ := w.Finish(ctx)
	seg := segs[0]
	path := filepath.Join(dir, seg.ID.String()+".seg")
	good, _ := os.ReadFile(path)
	m.good[seg.ID] = good
	if err := s.Verify(ctx, seg); err != nil {
		t.Fatal(err)
	}
	damage := func(at int) {
		bad := append([]byte{}, good...)
		if at >= 0 {
			bad[at] ^= 0x40
		} else {
			bad = bad[:len(bad)/2]
		}
		os.Remove(path) // the open mapping stays valid
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 60 {
		at := r.IntN(len(good))
		if i == 0 {
			at = -1
		}
		damage(at)
		// A new store has nothing mapped and no checksum verified.
		m.s, _ = store.Open(store.Options{Dir: dir, Node: 1, Remote: m})
		got, _ := readAll(t, m.s, scanOf(cols), manifest(seg), 0, 0)
		if !same(got, want) {
			t.Fatal("wrong rows after damage at", at)
		}
		m.s.Close()
	}
	if m.calls == 0 {
		t.Fatal("nothing was mended")
	}
	// Without another replica it is a clear error.
	damage(100)
	alone, _ := store.Open(store.Options{Dir: dir, Node: 1})
	defer alone.Close()
	pin := alone.Pin(0)
	defer pin.Close()
	rd, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: seg, To: seg.Rows}, &function.Env{}, nil)
	if err == nil {
		_, err = rd.Next(ctx)
	}
	if !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
	// A missing file is fetched.
	os.Remove(path)
	m.s, _ = store.Open(store.Options{Dir: dir, Node: 1, Remote: m})
	defer m.s.Close()
	if got, _ := readAll(t, m.s, scanOf(cols), manifest(seg), 0, 0); !same(got, want) {
		t.Fatal("rows after fetch")
	}
}

func TestSweep(t *testing.T) {
	now := time.Now()
	s, err := store.Open(store.Options{Dir: t.TempDir(), Node: 1, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func() *catalog.Segment {
		w := s.NewWriter(store.WriterOptions{Columns: cols[:1], InlineBytes: -1})
		b := toBatch(t, randomRows(rand.New(rand.NewPCG(1, 1)), 5), false)
		if err := w.Write(ctx, batch.New(b.Cols[:1], 5)); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return segs[0]
	}
	const none = math.MaxUint64
	var here, anywhere []catalog.SegmentID
	look := func(version, read, began uint64, want int) {
		t.Helper()
		present, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		l := store.Look{Present: present, Here: map[catalog.SegmentID]struct{}{}, Anywhere: map[catalog.SegmentID]struct{}{}, Version: version, Read: read, Began: began}
		for _, id := range here {
			l.Here[id], l.Anywhere[id] = struct{}{}, struct{}{}
		}
		for _, id := range anywhere {
			l.Anywhere[id] = struct{}{}
		}
		if n := s.Sweep(l); n != want {
			t.Fatalf("%d files removed, want %d", n, want)
		}
	}
	a, b := write(), write()
	here = []catalog.SegmentID{a.ID}
	look(10, 10, none, 0) // the first sweep that sees b
	now = now.Add(1000 * time.Hour)
	look(10, 10, 0, 0)  // a node did not report its open transactions
	look(11, 11, 9, 0)  // a transaction older than b is open, which may have written it
	look(11, 11, 10, 0) // or one that may be as old
	s.Claim(b.ID)       // its transaction is about to commit
	look(12, 12, none, 0)
	look(13, 13, 12, 0) // but has not yet
	look(14, 14, 13, 1) // its transaction was rolled back, so the file is deleted
	if s.Has(b.ID) || !s.Has(a.ID) {
		t.Fatal("wrong file")
	}
	here = nil
	look(12, 11, none, 0)
	look(13, 11, none, 0) // a statement still reads version 11
	pin := s.Pin(0)
	rd, err := pin.Open(ctx, scanOf(cols[:1]), &op.Split{Segment: a, To: 5}, &function.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	look(13, 13, none, 0) // pinned
	if _, err := rd.Next(ctx); err != nil {
		t.Fatal(err)
	}
	pin.Close()
	look(13, 12, 0, 1) // deleted, whatever is open: it was committed once and dropped since
	// A copy of a file whose replicas are on other nodes is kept for a while. If it is received
	// again between two sweeps, the time starts anew.
	c := write()
	anywhere = []catalog.SegmentID{c.ID}
	look(20, 20, none, 0)
	look(20, 20, none, 0)
	now = now.Add(store.StrayGrace)
	in, err := s.Receive(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(ctx, c.ID, store.OneBlock(), func(b []byte) error { _, err := in.Write(b); return err }); err != nil {
		t.Fatal(err)
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	look(20, 20, none, 0)
	look(20, 20, none, 0)
	now = now.Add(store.StrayGrace)
	look(20, 20, none, 1)
	// Abort removes what was written.
	w := s.NewWriter(store.WriterOptions{Columns: cols[:1], GroupRows: 2})
	bt := toBatch(t, randomRows(rand.New(rand.NewPCG(1, 1)), 5), false)
	if err := w.Write(ctx, batch.New(bt.Cols[:1], 5)); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if n, _ := s.Usage(); n != 0 {
		t.Fatal(n)
	}
}

// TestBudget writes with little memory: row groups become small, and nothing fails.
func TestBudget(t *testing.T) {
	s := open(t, nil)
	pool := mem.NewPool("n", 2<<20)
	acct := pool.Account("w", false)
	defer acct.Close()
	w := s.NewWriter(store.WriterOptions{Columns: cols, Account: acct, InlineBytes: -1})
	r := rand.New(rand.NewPCG(9, 9))
	want := randomRows(r, 500)
	b := toBatch(t, want, false)
	for range 40 {
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	segs, err := w.Finish(ctx)
	if err != nil || acct.Used() != 0 || pool.Peak() > 2<<20 {
		t.Fatal(err, acct.Used(), pool.Peak())
	}
	var all rows
	for range 40 {
		all = append(all, want...)
	}
	if got, _ := readAll(t, s, scanOf(cols), manifest(segs...), 0, 0); !same(got, all) {
		t.Fatal("rows differ")
	}
}
