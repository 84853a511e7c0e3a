package catalog_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestOldStatesAreCollected: a state shares memory with the state it was made from, but does not
// keep it from the garbage collector.
func TestOldStatesAreCollected(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")})
	var before []weak.Pointer[catalog.State]
	for i := range 20 {
		before = append(before, weak.Make(d.s))
		d.do("", &catalog.AppendSegments{Table: 20000, Part: 0, Segments: []*catalog.Segment{seg(byte(i+1), 10)}})
	}
	runtime.GC()
	for i, p := range before {
		if p.Value() != nil {
			t.Errorf("the state before commit %d is still there", i)
		}
	}
	runtime.KeepAlive(d)
}
