package catalog_test

import (
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestForeignKeySides(t *testing.T) {
	const key types.OID = 20500
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "child")})
	claim := func(side uint8, read uint64, all bool, hashes ...uint64) *catalog.UniqueKeys {
		return &catalog.UniqueKeys{Table: 20000, Constraint: key, Side: side, ReadVersion: read, All: all, Hashes: hashes}
	}
	v := d.s.Version()
	d.do("", claim(catalog.SideRefers, v, false, 1, 2))
	// Two references to the same key do not conflict; a reference and the removal of its key do.
	d.do("", claim(catalog.SideRefers, v, false, 2, 3))
	d.do(pgerr.SerializationFailure, claim(catalog.SideRemoves, v, false, 3))
	d.do(pgerr.SerializationFailure, claim(catalog.SideRemoves, v, true))
	d.do("", claim(catalog.SideRemoves, v, false, 4))
	d.do("", claim(catalog.SideRemoves, d.s.Version(), false, 3))
	d.do(pgerr.SerializationFailure, claim(catalog.SideRefers, v, false, 4))
	// Changes of one commit on both sides do not conflict with each other.
	d.do("", claim(catalog.SideRefers, d.s.Version(), false, 9), claim(catalog.SideRemoves, d.s.Version(), false, 9))
	// Both sides are kept in a snapshot of the state.
	b, err := d.s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if d.s, err = catalog.UnmarshalState(b); err != nil {
		t.Fatal(err)
	}
	d.do("", claim(catalog.SideRemoves, v, false, 4))
	d.do(pgerr.SerializationFailure, claim(catalog.SideRefers, v, false, 9))
	d.do(pgerr.SerializationFailure, claim(catalog.SideRefers, v, true))
}

func TestDeleteExpectsDefinition(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")})
	d.do("", &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(1, 10)}})
	parent := table(20000, "t")
	parent.ReferencedBy = []types.OID{20001}
	d.do("", &catalog.PutRelation{Rel: parent, ExpectVersion: 1})
	gone := del(catalog.SegmentID{1}, 3).(*catalog.DeleteRows)
	gone.ExpectVersion = 1
	d.do(pgerr.SerializationFailure, gone)
	gone.ExpectVersion = 2
	d.do("", gone)
	if got := d.s.Manifest(20000).Rows(); got != 9 {
		t.Fatalf("%d rows are left", got)
	}
}
