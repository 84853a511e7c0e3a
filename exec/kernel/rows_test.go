package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRows: rows stored row by row equal those of their columns: columns of all widths, with NULLs,
// strings of up to 15 bytes, dictionaries, and columns that are not stored by row, for row numbers
// in any order, NoRow among them.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ts := []types.Type{types.Int8, types.Text, types.Int4, types.Bool, types.Text, types.UUID, types.Int2, types.IntervalT, types.Timetz, types.Text}
	letters := "abcdefghijklmnopqrstuvwxyzABCDEFG"
	fixed := func(dt arrow.DataType, n int, valid []byte) arrow.Array {
		_, width := layoutOf(dt)
		b := make([]byte, n*width)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		switch width {
		case 2:
			return makeFixed(dt, view[uint16](buffer(b)), valid)
		case 4:
			return makeFixed(dt, view[uint32](buffer(b)), valid)
		case 8:
			return makeFixed(dt, view[uint64](buffer(b)), valid)
		case 12:
			return makeFixed(dt, view[bytes12](buffer(b)), valid)
		default:
			return makeFixed(dt, view[bytes16](buffer(b)), valid)
		}
	}
	texts := func(n, most int, valid []byte) arrow.Array {
		offs, data := []int32{0}, []byte{}
		for range n {
			data = append(data, letters[:r.IntN(most+1)]...)
			offs = append(offs, int32(len(data)))
		}
		return makeVar(arrow.BinaryTypes.String, offs, data, valid)
	}
	values := texts(40, 30, nil).Data().(*array.Data)
	for round := range 6 {
		cols, which := make([]*Column, len(ts)), r.Perm(len(ts))
		widest := make([]int64, len(ts))
		for i, ty := range ts {
			cols[i], widest[i] = NewColumn(ty), 16
		}
		widest[1], widest[4], widest[9] = 4+15, 4+30, 4+16
		var all []uint32
		chunks := 60 + r.IntN(10)
		for ch := range chunks {
			n := ChunkRows - r.IntN(50)
			if ch == chunks-1 {
				n = 1 + r.IntN(40)
			}
			for k := range n {
				all = append(all, RowID(ch, k))
			}
			for i, ty := range ts {
				var valid []byte
				if round%2 == 1 && r.IntN(2) == 0 {
					valid = batch.AllOnes(n)
					for range n / 5 {
						batch.ClearBit(valid, r.IntN(n))
					}
				}
				var arr arrow.Array
				switch {
				case i == 1:
					arr = texts(n, 15, valid)
				case i == 4:
					index := make([]int32, n)
					for k := range index {
						index[k] = r.Int32N(40)
					}
					arr = makeDict(index, valid, values)
				case i == 9:
					arr = texts(n, 16, valid)
				case ty.OID == types.BoolOID:
					arr = makeBits(ty.Arrow(), make([]byte, batch.BitmapBytes(n)), valid, n)
				default:
					arr = fixed(ty.Arrow(), n, valid)
				}
				cols[i].Append(arr)
			}
		}
		rows := NewRows(cols, which, widest)
		if rows == nil {
			t.Fatal("no rows of a large table")
		}
		rows.Make()
		for ch := range rows.Chunks() {
			rows.Fill(ch)
		}
		for range 30 {
			ids := make([]uint32, r.IntN(5000))
			none := r.IntN(2) == 0
			for i := range ids {
				ids[i] = all[r.IntN(len(all))]
				if none && r.IntN(5) == 0 {
					ids[i] = NoRow
				}
			}
			var at []int32
			n := len(ids)
			if r.IntN(2) == 0 {
				n = 0
				at = []int32{}
				for range ids {
					n += r.IntN(3)
					at = append(at, int32(n))
					n++
				}
				n += r.IntN(3)
			}
			var rooms []Room
			if r.IntN(2) == 0 {
				rooms = make([]Room, len(which))
			}
			got := rows.Spread(ids, at, n, none, which, rooms)
			for k, i := range which {
				if got[k].Len() != n {
					t.Fatalf("%d rows, not %d", got[k].Len(), n)
				}
				for j, id := range ids {
					row := j
					if at != nil {
						row = int(at[j])
					}
					want := "(null)"
					if !cols[i].IsNull(id) {
						ch, at := SplitID(id)
						want = cols[i].Chunk(ch).ValueStr(at)
					}
					if s := got[k].ValueStr(row); s != want {
						t.Fatalf("round %d, column %d (%s) of row %x: %s, not %s", round, i, fmt.Sprint(ts[i]), id, s, want)
					}
				}
			}
		}
		rows.Free()
	}
	small := NewColumn(types.Int8)
	small.Append(fixed(types.Int8.Arrow(), 100, nil))
	if NewRows([]*Column{small, small, small}, []int{0, 1, 2}, []int64{8, 8, 8}) != nil {
		t.Error("rows of a table that a cache holds")
	}
}
