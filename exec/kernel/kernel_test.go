package kernel_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func arrayOf(e types.Type) types.Type {
	t, _ := types.ArrayOf(e)
	return t
}

var record = types.Type{OID: types.RecordOID, Mod: -1, Rec: &types.Record{Fields: []types.Field{{Name: "a", Type: types.Int4}, {Name: "b", Type: types.Text}}}}

// all are the types that are compared, hashed and copied.
var all = []types.Type{types.Bool, types.Int2, types.Int4, types.Int8, types.Oid, types.Float4, types.Float8,
	types.FixedNumeric(9, 2, true), types.Numeric, types.Text, types.Bytea, types.Date, types.Time, types.Timetz,
	types.Timestamp, types.Timestamptz, types.IntervalT, types.UUID, types.JSONB, types.Bpchar, arrayOf(types.Int4), arrayOf(types.Text), record}

func datum(r *rand.Rand, t types.Type) types.Datum {
	if t.OID == types.RecordOID {
		if r.Intn(8) == 0 {
			return nil
		}
		return types.Row{optest.Value(r, types.Int4, 4), optest.Value(r, types.Text, 4)}
	}
	return optest.Value(r, t, 40)
}

func column(t testing.TB, r *rand.Rand, ty types.Type, n int) ([]types.Datum, arrow.Array) {
	vals := make([]types.Datum, n)
	for i := range vals {
		vals[i] = datum(r, ty)
	}
	return vals, optest.Array(t, ty, vals)
}

func show(t types.Type, d types.Datum) string { return optest.Text(types.Row{d}, []types.Type{t}) }

// forms returns the array and other forms of the same rows.
func forms(arr arrow.Array) []arrow.Array {
	n := int64(arr.Len())
	out := []arrow.Array{arr, array.NewSlice(kernel.Concat(arr.DataType(), []arrow.Array{array.NewSlice(arr, 0, min(n, 3)), arr}), min(n, 3), min(n, 3)+n)}
	if d := optest.Dictionary(arr); d != arr {
		out = append(out, d, array.NewSlice(d, 0, n))
	}
	return out
}

func TestTake(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, ty := range all {
		for _, n := range []int{0, 1, 7, 300} {
			vals, arr := column(t, r, ty, n)
			for f, form := range forms(arr) {
				idx := []int32{-1}
				for range 2 * n {
					idx = append(idx, int32(r.Intn(n+1))-1)
				}
				for _, idx := range [][]int32{idx, nil, idx[:1]} {
					got := kernel.Take(form, idx)
					if got.Len() != len(idx) {
						t.Fatalf("%s: %d rows", ty, got.Len())
					}
					for i, j := range idx {
						var want types.Datum
						if j >= 0 {
							want = vals[j]
						}
						if d := types.DatumAt(ty, got, i); show(ty, d) != show(ty, want) {
							t.Fatalf("%s form %d: row %d is %v, want %v", ty, f, i, d, want)
						}
					}
				}
			}
		}
	}
}

// TestGatherAll: gathering several columns together equals gathering them one by one, with NULLs
// and with row numbers NoRow, which give NULLs.
func TestGatherAll(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	var cols []*kernel.Column
	for _, ty := range all {
		c := kernel.NewColumn(ty)
		_, arr := column(t, r, ty, 300)
		c.Append(arr)
		cols = append(cols, c)
	}
	whole := kernel.NewColumn(types.Int4) // a column without NULLs
	whole.Append(batch.FromSlice(arrow.PrimitiveTypes.Int32, make([]int32, 300), nil))
	cols = append(cols, whole, whole)
	for _, gaps := range []int{0, 1, 9, 200} {
		ids := make([]uint32, 200)
		for i := range ids {
			if ids[i] = uint32(r.Intn(300)); i < gaps {
				ids[i] = kernel.NoRow
			}
		}
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for i, got := range kernel.GatherAll(cols, nil, ids) {
			want := cols[i].Gather(ids)
			for k, id := range ids {
				if got.ValueStr(k) != want.ValueStr(k) {
					t.Fatalf("column %d of %s: row %d is %s, alone %s", i, cols[i].Type, k, got.ValueStr(k), want.ValueStr(k))
				}
				if got.DataType().ID() != arrow.NULL && got.IsNull(k) != cols[i].IsNull(id) {
					t.Fatalf("column %d of %s: row %d is %v", i, cols[i].Type, k, got.ValueStr(k))
				}
			}
		}
		some := kernel.GatherAll(cols, []int{3, 1}, ids)
		if len(some) != 2 || some[0].String() != cols[3].Gather(ids).String() || some[1].String() != cols[1].Gather(ids).String() {
			t.Fatal("some columns are gathered otherwise")
		}
	}
}

func TestColumnGatherMatch(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	used := &kernel.Room{}
	for _, ty := range all {
		var vals []types.Datum
		var ids []uint32
		c := kernel.NewColumn(ty)
		for ch, n := range []int{5, 1, 300, 40} {
			v, arr := column(t, r, ty, n)
			fs := forms(arr)
			c.Append(fs[ch%len(fs)])
			vals = append(vals, v...)
			for i := range n {
				ids = append(ids, kernel.RowID(ch, i))
			}
		}
		for round, room := range []*kernel.Room{nil, used} {
			var pick []uint32
			var want []types.Datum
			for range 500 {
				k := r.Intn(len(ids) + 1)
				if k == len(ids) {
					pick, want = append(pick, kernel.NoRow), append(want, nil)
				} else {
					pick, want = append(pick, ids[k]), append(want, vals[k])
				}
			}
			got := c.Gather(pick)
			for i, w := range want {
				if d := types.DatumAt(ty, got, i); show(ty, d) != show(ty, w) {
					t.Fatalf("%s round %d: row %d is %v, want %v", ty, round, i, d, w)
				}
			}
			// The same rows further apart, with rows in between.
			at, n := make([]int32, len(pick)), int32(0)
			for i := range at {
				n += int32(1 + r.Intn(2))
				at[i] = n - 1
			}
			got = c.Spread(pick, at, int(n), slices.Contains(pick, kernel.NoRow), room)
			if got.Len() != int(n) {
				t.Fatalf("%s round %d: %d rows spread, want %d", ty, round, got.Len(), n)
			}
			for i, w := range want {
				if d := types.DatumAt(ty, got, int(at[i])); show(ty, d) != show(ty, w) {
					t.Fatalf("%s round %d: spread row %d is %v, want %v", ty, round, i, d, w)
				}
			}
			pv, probe := column(t, r, ty, 200)
			for f, form := range forms(probe) {
				for _, safe := range []bool{false, true} {
					var rows []int32
					var at []uint32
					var pairs, expect []int32
					for p := range 2000 {
						i, k := r.Intn(len(pv)), r.Intn(len(ids))
						rows, at = append(rows, int32(i)), append(at, ids[k])
						if p%3 == 0 {
							continue
						}
						pairs = append(pairs, int32(p))
						a, b := pv[i], vals[k]
						if a == nil || b == nil {
							if safe && a == nil && b == nil {
								expect = append(expect, int32(p))
							}
						} else if types.Compare(ty, a, b) == 0 {
							expect = append(expect, int32(p))
						}
					}
					if got := c.Match(form, rows, at, safe, pairs); !slices.Equal(got, expect) {
						t.Fatalf("%s form %d safe %v: %d pairs match, want %d", ty, f, safe, len(got), len(expect))
					}
				}
			}
			c.Finish()
		}
	}
}

func TestUnifiedDictionaries(t *testing.T) {
	c := kernel.NewColumn(types.Text)
	var ids []uint32
	var want []string
	for ch := range 4 {
		var vals []types.Datum
		for i := range 1000 {
			s := fmt.Sprint("k", (i*7+ch)%9)
			vals, want = append(vals, s), append(want, s)
			ids = append(ids, kernel.RowID(ch, i))
		}
		c.Append(optest.Dictionary(optest.Array(t, types.Text, vals)))
	}
	if _, ok := c.Gather(ids).(*array.String); !ok {
		t.Error("columns of different dictionaries are plain")
	}
	c.Finish()
	got := c.Gather(ids)
	if _, ok := got.(*array.Dictionary); !ok {
		t.Errorf("a sealed column is %s", got.DataType())
	}
	for i, w := range want {
		if d := types.DatumAt(types.Text, got, i); d != w {
			t.Fatalf("row %d is %v, want %v", i, d, w)
		}
	}
}

// TestHash: equal values have equal hashes, in every form and physical type.
func TestHash(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, ty := range all {
		vals, arr := column(t, r, ty, 500)
		h := kernel.NewHasher([]types.Type{ty})
		base := slices.Clone(h.Hash([]arrow.Array{arr}, 500, nil))
		for f, form := range forms(arr) {
			if got := h.Hash([]arrow.Array{form}, 500, nil); !slices.Equal(got, base) {
				t.Fatalf("%s form %d hashes differently", ty, f)
			}
		}
		differ := 0
		for i := range vals {
			for j := range vals[:i] {
				same := vals[i] == nil && vals[j] == nil || vals[i] != nil && vals[j] != nil && types.Compare(ty, vals[i], vals[j]) == 0
				if same && base[i] != base[j] {
					t.Fatalf("%s: %s and %s are equal, their hashes are not", ty, show(ty, vals[i]), show(ty, vals[j]))
				}
				if !same && base[i] == base[j] {
					differ++
				}
			}
		}
		if differ > 0 {
			t.Errorf("%s: %d collisions", ty, differ)
		}
	}
	pairs := []struct {
		a, b   types.Type
		va, vb types.Datum
	}{
		{types.Int4, types.Int8, int64(-7), int64(-7)},
		{types.Int2, types.Int4, int64(12), int64(12)},
		{types.Float4, types.Float8, 0.5, 0.5},
		{types.FixedNumeric(9, 2, true), types.Numeric, number.DecimalFromInt64(1500, 2), number.DecimalFromInt64(15, 0)},
		{types.FixedNumeric(9, 2, true), types.FixedNumeric(9, 4, true), number.DecimalFromInt64(1, 2), number.DecimalFromInt64(100, 4)},
		{types.FixedNumeric(9, 2, true), types.FixedNumeric(9, 4, true), number.DecimalFromInt64(0, 2), number.DecimalFromInt64(0, 4)},
	}
	for _, p := range pairs {
		a := kernel.NewHasher([]types.Type{p.a}).Hash([]arrow.Array{optest.Array(t, p.a, []types.Datum{p.va})}, 1, nil)
		b := kernel.NewHasher([]types.Type{p.b}).Hash([]arrow.Array{optest.Array(t, p.b, []types.Datum{p.vb})}, 1, nil)
		if a[0] != b[0] {
			t.Errorf("%s and %s hash apart", p.a, p.b)
		}
	}
}

// TestKeys: normalized sort keys, compared as bytes, are in the order of the values.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for _, ty := range all {
		vals, arr := column(t, r, ty, 300)
		for f, form := range forms(arr) {
			for _, spec := range []kernel.KeySpec{{Type: ty}, {Type: ty, Desc: true, NullsFirst: true}, {Type: ty, NullsFirst: true}} {
				k := &kernel.Keys{}
				kernel.NewKeyEncoder([]kernel.KeySpec{spec}).Append(k, []arrow.Array{form}, 300)
				for i := range vals {
					for j := range vals {
						if got, want := bytes.Compare(k.At(i), k.At(j)), order(spec, vals[i], vals[j]); got != want {
							t.Fatalf("%s form %d %+v: %s against %s is %d, want %d", ty, f, spec, show(ty, vals[i]), show(ty, vals[j]), got, want)
						}
					}
				}
			}
		}
	}
}

func order(s kernel.KeySpec, a, b types.Datum) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		if s.NullsFirst {
			return -1
		}
		return 1
	case b == nil:
		return -order(s, b, a)
	}
	c := types.Compare(s.Type, a, b)
	if s.Desc {
		return -c
	}
	return c
}

func TestOrder(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	sets := [][]kernel.KeySpec{
		{{Type: types.Int8}}, {{Type: types.Text}}, {{Type: types.Int4, Desc: true}, {Type: types.Int4}},
		{{Type: types.Text, Desc: true}, {Type: types.Numeric}, {Type: types.Int2}},
		{{Type: types.Float8}, {Type: types.Timestamp}, {Type: types.UUID}}, {{Type: types.Bool}},
	}
	for _, specs := range sets {
		for _, n := range []int{0, 1, 2, 100, 3000} {
			k := &kernel.Keys{}
			e := kernel.NewKeyEncoder(specs)
			for from := 0; from < n; from += 1000 {
				m := min(1000, n-from)
				var cols []arrow.Array
				for _, s := range specs {
					_, arr := column(t, r, s.Type, m)
					cols = append(cols, arr)
				}
				e.Append(k, cols, m)
			}
			want := make([]uint32, n)
			for i := range want {
				want[i] = uint32(i)
			}
			slices.SortStableFunc(want, func(a, b uint32) int { return bytes.Compare(k.At(int(a)), k.At(int(b))) })
			if got := kernel.Order(k, nil); !slices.Equal(got, want) {
				t.Fatalf("%v: %d rows are not in order", specs, n)
			}
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewSource(6))
	for _, bench := range []struct {
		name string
		gen  func() types.Datum
		t    types.Type
	}{
		{"int8", func() types.Datum { return r.Int63() }, types.Int8},
		{"small", func() types.Datum { return int64(r.Intn(1 << 20)) }, types.Int8},
		{"text", func() types.Datum { return fmt.Sprintf("Customer#%09d", r.Intn(n)) }, types.Text},
	} {
		vals := make([]types.Datum, n)
		for i := range vals {
			vals[i] = bench.gen()
		}
		k := &kernel.Keys{}
		kernel.NewKeyEncoder([]kernel.KeySpec{{Type: bench.t}}).Append(k, []arrow.Array{optest.Array(b, bench.t, vals)}, n)
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				kernel.Order(k, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}

func BenchmarkHash(b *testing.B) {
	const n = 8192
	r := rand.New(rand.NewSource(6))
	ints := make([]types.Datum, n)
	strs := make([]types.Datum, n)
	for i := range ints {
		ints[i], strs[i] = r.Int63(), fmt.Sprintf("Customer#%09d", r.Intn(n))
	}
	for _, bench := range []struct {
		t types.Type
		v []types.Datum
	}{{types.Int8, ints}, {types.Text, strs}} {
		arr := optest.Array(b, bench.t, bench.v)
		h := kernel.NewHasher([]types.Type{bench.t})
		var out []uint64
		b.Run(bench.t.String(), func(b *testing.B) {
			for b.Loop() {
				out = h.Hash([]arrow.Array{arr}, n, out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}

// BenchmarkKeyEncoder encodes sort keys of two texts, a number and a date, as windows have.
func BenchmarkKeyEncoder(b *testing.B) {
	const n = 8192
	r := rand.New(rand.NewSource(6))
	ts := []types.Type{types.Text, types.Text, types.Int8, types.Date}
	cols, specs := make([]arrow.Array, len(ts)), make([]kernel.KeySpec, len(ts))
	for c, t := range ts {
		vals := make([]types.Datum, n)
		for i := range vals {
			if vals[i] = int64(r.Intn(9)); t.OID == types.TextOID {
				vals[i] = fmt.Sprintf("brand #%d of %d", r.Intn(800), r.Intn(9))
			}
		}
		cols[c], specs[c] = optest.Array(b, t, vals), kernel.KeySpec{Type: t}
	}
	e, k := kernel.NewKeyEncoder(specs), &kernel.Keys{}
	for b.Loop() {
		k.Reset()
		e.Append(k, cols, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
