package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestUniqueZones: where a zone map says that the values of a column are distinct, they are; and it
// does say so for increasing integers and for texts.
func TestUniqueZones(t *testing.T) {
	columns := []store.WriterColumn{
		{Num: 1, Type: types.Int8}, {Num: 2, Type: types.Int4}, {Num: 3, Type: types.Text}, {Num: 4, Type: types.Text},
		{Num: 5, Type: types.Date}, {Num: 6, Type: types.Type{OID: types.BpcharOID, Mod: 8}}, {Num: 7, Type: types.Int2}, {Num: 8, Type: types.Numeric},
	}
	r := rand.New(rand.NewPCG(3, 3))
	pool := mem.NewPool("n", 0)
	for _, c := range []struct {
		rows int
		o    store.WriterOptions
		dict bool
	}{
		{rows: 1}, {rows: 40}, {rows: 40, dict: true}, {rows: 5000, o: store.WriterOptions{InlineBytes: -1}},
		{rows: 5000, o: store.WriterOptions{InlineBytes: -1, GroupRows: 512}},
		{rows: 5000, o: store.WriterOptions{InlineBytes: -1, GroupRows: 256, SegmentRows: 1000}, dict: true},
	} {
		for _, twice := range []int{0, 1, 2} { // 1: each column has one value twice; 2: NULL twice
			one := number.DecimalFromInt64(1, 0)
			data := make(rows, c.rows)
			for i := range data {
				data[i] = []types.Datum{int64(i * 3), int64(r.IntN(1 << 30)), fmt.Sprint("k", i*7919%c.rows), fmt.Sprint("v", r.IntN(c.rows)), int64(i - 9), fmt.Sprint("b", i), int64(i % 30000), one}
			}
			if at := r.IntN(c.rows); twice == 1 && c.rows > 1 {
				data[at] = data[(at+1+r.IntN(c.rows-1))%c.rows]
			} else if twice == 2 {
				data[at] = make([]types.Datum, len(columns))
			}
			s := open(t, nil)
			c.o.Columns, c.o.Account = columns, pool.Account("w", false)
			w := s.NewWriter(c.o)
			for at := 0; at < c.rows; at += 700 {
				if err := w.Write(ctx, batchOf(t, columns, data[at:min(at+700, c.rows)], c.dict)); err != nil {
					t.Fatal(err)
				}
			}
			segs, err := w.Finish(ctx)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, seg := range segs {
				part := data[at : at+int(seg.Rows)]
				at += int(seg.Rows)
				for j, col := range columns {
					seen, different := map[string]bool{}, true
					for _, row := range part {
						v := fmt.Sprint(row[j])
						different = different && row[j] != nil && !seen[v]
						seen[v] = true
					}
					is := seg.Zones[j].Unique
					if is && !different {
						t.Fatalf("%d rows: column %d has a value twice, or NULL", len(part), col.Num)
					}
					if known := col.Num == 1 || col.Num == 3 || col.Num == 5; known && twice != 1 && different && !is {
						t.Errorf("%d rows: of column %d it is not known that its values are different", len(part), col.Num)
					}
				}
			}
		}
	}
}
