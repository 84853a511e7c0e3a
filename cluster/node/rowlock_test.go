package node

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRowLockMoved: of two that lock the same row the second to commit has a conflict, also where compaction has moved the row
// between their reads.
func TestRowLockMoved(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := start(t, n)
			a, b := connect(t, nodes[0]), connect(t, nodes[n-1])
			a.must("create table acc (id int primary key, n int); create table ledger (n int)")
			oid, _ := strconv.Atoi(a.one("select 'acc'::regclass::oid"))
			segments := func() map[catalog.SegmentID]bool {
				out := map[catalog.SegmentID]bool{}
				for _, part := range nodes[0].Catalog().Manifest(types.OID(oid)).Partitions {
					for _, g := range part {
						out[g.ID] = true
					}
				}
				return out
			}
			others := 0 // rows whose segments are compacted with it
			moved := 0  // rows that were between the reads
			for id := 0; moved < 3; id++ {
				if id == 100 {
					t.Fatal("compaction was always there first")
				}
				before := segments()
				a.must(fmt.Sprintf("insert into acc values (%d, 0)", id))
				a.must("begin")
				lock := fmt.Sprintf("select n from acc where id = %d for update", id)
				a.must(lock)
				own := segments()
				for old := range before {
					delete(own, old)
				}
				a.must("insert into ledger values (0)")
				if len(own) > 0 {
					until(t, "compaction to move the row", func() bool {
						others++
						b.must(fmt.Sprintf("insert into acc values (%d, 0)", 1000+others))
						now := segments()
						for id := range own {
							if now[id] {
								return false
							}
						}
						return true
					})
					moved++
				}
				b.must("begin")
				b.must(lock)
				b.must("insert into ledger values (0)")
				a.must("commit")
				if _, err := b.do("commit"); !pgerr.Is(err, pgerr.SerializationFailure) {
					t.Errorf("row %d: %v", id, err)
				}
			}
		})
	}
}
