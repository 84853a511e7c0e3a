package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/RoaringBitmap/roaring"
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func equalTo(t *testing.T, col plan.Column, val types.Datum, as types.Type) expr.Expr {
	t.Helper()
	for _, o := range fn.Operators("=") {
		if o.Left == col.Type.OID && o.Right == as.OID {
			return &expr.Call{Fn: o.Func, Op: "=", Typ: types.Bool, Args: []expr.Expr{&expr.Col{ID: col.ID, Typ: col.Type}, &expr.Const{Val: val, Typ: as}}}
		}
	}
	t.Fatalf("no = of %s and %s", col.Type, as)
	return nil
}

// keyTable has segments of many sizes, inline or in files, and keys of one and of two columns that
// are not unique: the index works without uniqueness.
type keyTable struct {
	s    *store.Store
	rel  *catalog.Relation
	cols []store.WriterColumn
	scan *plan.Scan
	rows atomic.Int32 // read one by one
}

func newKeyTable(t *testing.T, pool *mem.Pool) *keyTable {
	t.Helper()
	s, err := store.Open(store.Options{Dir: t.TempDir(), Node: 7, Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &keyTable{s: s, cols: []store.WriterColumn{{Num: 1, Type: types.Int4}, {Num: 2, Type: types.Text}, {Num: 4, Type: types.UUID}},
		rel: &catalog.Relation{OID: 20000, Columns: []catalog.Column{{Num: 1, Type: types.Int4}, {Num: 2, Type: types.Text}, {Num: 4, Type: types.UUID}}, Constraints: []catalog.Constraint{{Kind: 'c', Columns: []int16{1}}, {OID: 1, Kind: 'p', Columns: []int16{1}}, {OID: 2, Kind: 'u', Columns: []int16{4, 2}}}}}
	k.scan = scanOf(k.cols)
	k.scan.Table = k.rel.OID
	return k
}

func (k *keyTable) segment(t *testing.T, in rows, inline bool) *catalog.Segment {
	t.Helper()
	o := store.WriterOptions{Columns: k.cols, GroupRows: 300}
	if !inline {
		o.InlineBytes = -1
	}
	w := k.s.NewWriter(o)
	if err := w.Write(ctx, batchOf(t, k.cols, in, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil || len(segs) != 1 {
		t.Fatal(len(segs), err)
	}
	return segs[0]
}

// find returns the rows that a scan by a key returns.
func (k *keyTable) find(t *testing.T, m *catalog.Manifest, conds ...expr.Expr) (got rows, ids []int64, read int64) {
	t.Helper()
	sc := *k.scan
	sc.Filter = conds
	key := store.KeyOf(&sc, k.rel, &function.Env{})
	if key == nil {
		t.Fatal("no key")
	}
	pin := k.s.Pin(64)
	defer pin.Close()
	pr := prune.NewPruner(&sc, &function.Env{})
	splits := pin.KeySplits(ctx, m, 0, key, func(g *catalog.Segment) bool { return pr.MayMatch(g.Zones, g.Rows) })
	for _, sp := range splits {
		read += sp.To - sp.From
	}
	got, ids = readSplits(t, pin, &sc, splits)
	if b, known, err := pin.Row(ctx, m, &sc, key); err != nil {
		t.Fatal(err)
	} else if known && (b == nil && len(got) > 0 || b != nil && key.IsWhole() && !slices.Contains(ids, b.Seq)) {
		t.Fatalf("one row: %v, not of %v", b, ids)
	} else if known {
		k.rows.Add(1)
	}
	return got, ids, read
}

// TestKeySplits compares look-ups by key with scans, while segments are added, compacted, lose rows
// and are dropped.
func TestKeySplits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	k := newKeyTable(t, mem.NewPool("n", 0))
	uuid := func(i int) types.Datum { return [16]byte{byte(i), byte(i >> 8), 9} }
	row := func() []types.Datum {
		i := r.IntN(900)
		out := []types.Datum{int64(i), fmt.Sprint("t", i%7), uuid(i % 50)}
		if r.IntN(20) == 0 {
			out[r.IntN(3)] = nil
		}
		return out
	}
	m := &catalog.Manifest{Table: k.rel.OID, Partitions: make([][]*catalog.Segment, 2)}
	var old []*catalog.Manifest
	known := 0 // look-ups answered by indexes alone
	look := func(m *catalog.Manifest) {
		i := r.IntN(1200)
		sc := k.scan
		vals, of := []types.Datum{int64(i)}, &k.rel.Constraints[1]
		conds := []expr.Expr{equalTo(t, sc.Cols[0], int64(i), types.Int4)}
		switch r.IntN(4) {
		case 0: // an int8 beyond the range of int4
			vals[0] = int64(i) + int64(r.IntN(2))<<32
			conds = []expr.Expr{equalTo(t, sc.Cols[0], vals[0], types.Int8)}
		case 1:
			conds = []expr.Expr{equalTo(t, sc.Cols[1], fmt.Sprint("t", i%7), types.Text), equalTo(t, sc.Cols[2], uuid(i%50), types.UUID)}
			vals, of = []types.Datum{uuid(i % 50), fmt.Sprint("t", i%7)}, &k.rel.Constraints[2]
		}
		all := *sc
		all.Filter = conds
		want, wantIDs := readAll(t, k.s, &all, m, 0, 64)
		got, ids, _ := k.find(t, m, conds...)
		if !same(got, want) || !slices.Equal(ids, wantIDs) {
			t.Fatalf("%v, not %v", got, want)
		}
		pin := k.s.Pin(0)
		defer pin.Close()
		if pin.Lacks(ctx, m, store.KeyFor(k.rel, of, vals)) {
			if known++; len(want) > 0 {
				t.Fatalf("it is said to lack %v", want)
			}
		}
	}
	defer func() {
		if known < 100 {
			t.Errorf("indexes knew of %d keys that they are not there", known)
		}
		if k.rows.Load() < 100 {
			t.Errorf("%d rows were read one by one", k.rows.Load())
		}
	}()
	for step := range 1000 {
		next := *m
		next.Partitions = slices.Clone(m.Partitions)
		p := r.IntN(2)
		segs := next.Partitions[p]
		switch n := r.IntN(40); {
		case n < 25: // as the catalog appends: in place, if there is capacity
			next.Partitions[p] = append(segs, k.segment(t, rows{row()}, true))
		case n < 26:
			var in rows
			for range 200 + r.IntN(800) {
				in = append(in, row())
			}
			next.Partitions[p] = append(slices.Clone(segs), k.segment(t, in, r.IntN(2) == 0))
		case n < 36 && len(segs) > 0: // delete a row; a segment without rows is dropped
			i := r.IntN(len(segs))
			g := *segs[i]
			have := roaring.New()
			if !g.Deleted.Empty() {
				_ = have.UnmarshalBinary(g.Deleted.Portable())
			}
			have.Add(uint32(r.IntN(int(g.Rows))))
			b, _ := have.ToBytes()
			g.Deleted = catalog.RowSetOf(b)
			g.DeletedRows = int64(have.GetCardinality())
			segs = slices.Clone(segs)
			if segs[i] = &g; g.Live() == 0 {
				segs = slices.Delete(segs, i, i+1)
			}
			next.Partitions[p] = segs
		case n < 37 && len(segs) > 40: // compact several segments into one
			from := r.IntN(len(segs) - 30)
			ch, err := k.s.Compact(ctx, &catalog.Relation{OID: k.rel.OID, Columns: []catalog.Column{{Num: 1, Type: types.Int4}, {Num: 2, Type: types.Text}, {Num: 4, Type: types.UUID}}}, p, segs[from:from+30], nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			next.Partitions[p] = slices.Replace(slices.Clone(segs), from, from+30, ch.New...)
		}
		if m = &next; step%50 == 0 {
			old = append(old, m)
		}
		look(m)
		if len(old) > 0 && r.IntN(3) == 0 {
			look(old[r.IntN(len(old))]) // a statement with an old snapshot
		}
	}
}

// TestKeyIndexReadsFew: after some look-ups a segment has an index and is no longer scanned.
func TestKeyIndexReadsFew(t *testing.T) {
	pool := mem.NewPool("n", 64<<20)
	k := newKeyTable(t, pool)
	var in rows
	for i := range 20_000 {
		in = append(in, []types.Datum{int64((i * 7919) % 20_000), "x", nil})
	}
	m := manifest(k.segment(t, in, false))
	m.Table = k.rel.OID
	var last int64
	for i := range 20 {
		var got rows
		if got, _, last = k.find(t, m, equalTo(t, k.scan.Cols[0], int64(i*31), types.Int4)); len(got) != 1 {
			t.Fatal(got)
		}
	}
	if last > 3 {
		t.Errorf("%d rows were read", last)
	}
	if pool.Used() < 20_000*8 {
		t.Errorf("the index is not charged: %d", pool.Used())
	}
	// A key that does not exist reads nothing.
	if got, _, read := k.find(t, m, equalTo(t, k.scan.Cols[0], int64(70_000), types.Int4)); len(got) != 0 || read != 0 {
		t.Errorf("%v, %d rows were read", got, read)
	}
	// Without memory for the index there is none, and the rows are the same.
	poor := newKeyTable(t, mem.NewPool("n", 1<<20))
	m = manifest(poor.segment(t, in, false))
	m.Table = poor.rel.OID
	for i := range 20 {
		got, _, read := poor.find(t, m, equalTo(t, poor.scan.Cols[0], int64(i*31), types.Int4))
		if len(got) != 1 || read < 20_000 {
			t.Fatal(got, read)
		}
	}
}

// TestIndexTakesAnothersRoom: where memory suffices for one index only, it is that of the segment that
// is being looked into, replacing the other.
func TestIndexTakesAnothersRoom(t *testing.T) {
	const n = 20_000
	pool := mem.NewPool("n", 2<<20)
	k := newKeyTable(t, pool)
	var in rows
	for i := range n {
		in = append(in, []types.Datum{int64(i), "x", nil})
	}
	var m []*catalog.Manifest
	for range 2 {
		x := manifest(k.segment(t, in, false))
		x.Table = k.rel.OID
		m = append(m, x)
	}
	read := func(of, times int) (whole int) {
		t.Helper()
		for i := range times {
			got, _, read := k.find(t, m[of], equalTo(t, k.scan.Cols[0], int64(i*31), types.Int4))
			if len(got) != 1 {
				t.Fatal(got)
			}
			if read >= n {
				whole++
			}
			if b := k.s.IndexBytes(); b > pool.Limit()/8 {
				t.Fatalf("indexes take %d bytes", b)
			}
		}
		return whole
	}
	for _, of := range []int{0, 1, 0} {
		if whole := read(of, 40); whole == 0 || whole > 30 {
			t.Errorf("%d of 40 looks read the segment", whole)
		}
		if read(of, 10) != 0 {
			t.Error("there is no index of the segment that is in use")
		}
	}
}

// TestKeyLooksAtOnce looks keys up from several goroutines while the index of a segment is built.
func TestKeyLooksAtOnce(t *testing.T) {
	k := newKeyTable(t, mem.NewPool("n", 0))
	var in rows
	for i := range 5000 {
		in = append(in, []types.Datum{int64(i), strings.Repeat("y", i%3), nil})
	}
	m := manifest(k.segment(t, in[:4000], false), k.segment(t, in[4000:], true))
	m.Table = k.rel.OID
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				if got, _, _ := k.find(t, m, equalTo(t, k.scan.Cols[0], int64((g*997+i*13)%5000), types.Int4)); len(got) != 1 {
					t.Error(got)
				}
			}
		})
	}
	wg.Wait()
}

// TestKeysOfOneTag: two keys have the same bucket and tag in the index, but only one of them
// exists; the row that the index returns for the other is rejected by its value.
func TestKeysOfOneTag(t *testing.T) {
	seen := map[[2]uint64]int64{}
	a, b := int64(-1), int64(-1)
	for i := int64(0); a < 0 && i < 1<<20; i++ {
		h := kernel.HashInt(i)
		at := [2]uint64{h >> 63, h & 0xffffffff} // bucket and tag in the index of a segment of few rows
		if j, ok := seen[at]; ok {
			a, b = j, i
		}
		seen[at] = i
	}
	if a < 0 {
		t.Fatal("no two numbers have one tag")
	}
	for _, inline := range []bool{true, false} {
		k := newKeyTable(t, nil)
		in := rows{{a, "x", nil}, {nil, "y", nil}}
		for i := range int64(10) {
			in = append(in, []types.Datum{b + 1 + i, "z", nil})
		}
		m := manifest(k.segment(t, in, inline))
		m.Table = k.rel.OID
		for range 20 { // more often than it takes to get an index
			for key, want := range map[int64]int{a: 1, b: 0} {
				got, _, _ := k.find(t, m, equalTo(t, k.scan.Cols[0], key, types.Int4))
				if len(got) != want {
					t.Fatalf("key %d: %v", key, got)
				}
			}
		}
		if _, _, read := k.find(t, m, equalTo(t, k.scan.Cols[0], b, types.Int4)); read != 1 {
			t.Errorf("the index names %d rows", read)
		}
	}
}

// TestNoKey: a filter that does not determine every column of a key is not a look-up by key.
func TestNoKey(t *testing.T) {
	k := newKeyTable(t, nil)
	half := *k.scan
	half.Filter = []expr.Expr{equalTo(t, half.Cols[1], "a", types.Text)}
	none := *k.scan
	none.Filter = []expr.Expr{equalTo(t, none.Cols[0], nil, types.Int4)}
	for _, sc := range []plan.Scan{half, none, *k.scan} {
		if store.KeyOf(&sc, k.rel, &function.Env{}) != nil {
			t.Error(plan.Format(&sc))
		}
	}
}

// TestKeyMarksAreCharged: the hash marks of segments of one row are charged, as is a list of them
// that grows; without memory for them the same row is found by scanning.
func TestKeyMarksAreCharged(t *testing.T) {
	pool := mem.NewPool("n", 64<<20)
	k := newKeyTable(t, pool)
	var segs []*catalog.Segment
	for i := range 20_000 {
		segs = append(segs, k.segment(t, rows{{int64(i), "x", nil}}, true))
	}
	look := func(n int) {
		t.Helper()
		m := manifest(segs[:n]...)
		m.Table = k.rel.OID
		if got, _, _ := k.find(t, m, equalTo(t, k.scan.Cols[0], int64(n/2), types.Int4)); len(got) != 1 || got[0][0] != int64(n/2) {
			t.Fatalf("of %d segments: %v", n, got)
		}
	}
	before := pool.Used()
	look(10_000)
	if got := pool.Used() - before; got < 8*10_000 {
		t.Errorf("marks of 10000 segments are charged as %d bytes", got)
	}
	look(20_000)
	if got := pool.Used() - before; got < 8*20_000 {
		t.Errorf("marks of 20000 segments are charged as %d bytes", got)
	}
	others := pool.Account("others", false)
	defer others.Close()
	for others.Try(64 << 10) { // take all memory that is left
	}
	segs = append(segs, segs...)[:30_000]
	for i := 20_000; i < len(segs); i++ {
		segs[i] = k.segment(t, rows{{int64(i), "x", nil}}, true)
	}
	look(30_000)
	if got := pool.Used() - others.Used() - before; got >= 8*30_000 {
		t.Errorf("without memory %d bytes are charged", got)
	}
}

// TestNotHere: a node does not claim that a key is missing in files that it does not have.
func TestNotHere(t *testing.T) {
	k := newKeyTable(t, nil)
	var in rows
	for i := range 100 {
		in = append(in, []types.Datum{int64(2 * i), "x", nil})
	}
	g := k.segment(t, in, false)
	pin := k.s.Pin(0)
	defer pin.Close()
	lacks := func(g *catalog.Segment, i int64) bool {
		return pin.Lacks(ctx, manifest(g), store.KeyFor(k.rel, &k.rel.Constraints[1], []types.Datum{i}))
	}
	if !lacks(g, 7) || lacks(g, 8) {
		t.Error("with the file")
	}
	away := *g
	if away.Nodes = []uint64{8}; lacks(&away, 7) || !lacks(&away, 200) { // by its zone map, which is in the catalog
		t.Error("without the file")
	}
}

// TestTableWriter: rows are read back as they were written, whatever the batches: few rows are a segment
// by themselves until there are more.
func TestTableWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	k := newKeyTable(t, nil)
	w := &store.TableWriters{Store: k.s}
	for range 200 {
		var want rows
		one, err := w.Writer(ctx, &plan.TableWrite{Table: k.rel, Cols: []int16{1, 2, 4}})
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(4) {
			var in rows
			for range []int{0, 1, 1, 5, 9}[r.IntN(5)] {
				in = append(in, []types.Datum{int64(r.IntN(9)), []types.Datum{"some", nil}[r.IntN(2)], [16]byte{byte(r.IntN(9))}})
			}
			b := batchOf(t, k.cols, in, r.IntN(2) == 0)
			if err := one.Write(ctx, b); err != nil {
				t.Fatal(err)
			}
			want = append(want, in...)
		}
		list, err := one.Flush(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var segs []*catalog.Segment
		n := int64(0)
		for _, x := range list {
			segs, n = append(segs, x.Segment), n+x.Rows
		}
		got, _ := readAll(t, k.s, k.scan, manifest(segs...), 0, 64)
		if !same(got, want) || n != int64(len(want)) || len(segs) > 1 {
			t.Fatalf("%v in %d segments, not %v", got, len(segs), want)
		}
	}
}

// BenchmarkLacks looks up keys that do not exist, in a table as single-row INSERTs leave it: eight
// partitions, with segments of one row and those that compaction has made.
func BenchmarkLacks(b *testing.B) {
	s, err := store.Open(store.Options{Dir: b.TempDir(), Node: 7})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	rel := &catalog.Relation{OID: 20000, Columns: []catalog.Column{{Num: 1, Type: types.Int8}}, Constraints: []catalog.Constraint{{OID: 1, Kind: 'p', Columns: []int16{1}}}}
	cols := []store.WriterColumn{{Num: 1, Type: types.Int8}}
	r := rand.New(rand.NewPCG(1, 1))
	m := &catalog.Manifest{Table: rel.OID}
	for range 8 {
		var segs []*catalog.Segment
		add := func(n, rows int) {
			for range n {
				w := s.NewWriter(store.WriterOptions{Columns: cols})
				vals := make([]int64, rows)
				for i := range vals {
					vals[i] = r.Int64()
				}
				if err := w.Write(ctx, batch.New([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, nil)}, rows)); err != nil {
					b.Fatal(err)
				}
				g, err := w.Finish(ctx)
				if err != nil {
					b.Fatal(err)
				}
				segs = append(segs, g...)
			}
		}
		add(2, 40000)
		add(4, 5000)
		add(4, 624)
		add(4, 78)
		add(40, 1)
		m.Partitions = append(m.Partitions, segs)
	}
	keys := make([]*store.Key, 1024)
	for i := range keys {
		keys[i] = store.KeyFor(rel, &rel.Constraints[0], []types.Datum{r.Int64()})
	}
	look := func(i int) {
		pin := s.Pin(0)
		if !pin.Lacks(ctx, m, keys[i%len(keys)]) && i > 1000 {
			b.Fatal("the key is there")
		}
		pin.Close()
	}
	for i := range 2000 { // more than it takes to get indexes
		look(i)
	}
	for i := 0; b.Loop(); i++ {
		look(i)
	}
}
