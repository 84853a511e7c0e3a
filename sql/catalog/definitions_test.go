package catalog

import (
	"testing"

	"github.com/tributarydb/tributary/sql/types"
)

// TestDefinitions: Definitions() is equal for two states as long as only rows changed between them,
// by commits or by views of uncommitted changes, and differs after any other change. Cached plans
// are kept by it.
func TestDefinitions(t *testing.T) {
	table := types.FirstUserOID + 1
	rel := &Relation{OID: table, Schema: PublicOID, Name: "t", Kind: KindTable, Columns: []Column{{Num: 1, Name: "a", Type: types.Int4}}}
	s := New()
	step := func(same bool, changes ...Change) {
		t.Helper()
		next, _, err := s.Commit(s.Version()+1, changes)
		if err != nil {
			t.Fatal(err)
		}
		if (next.Definitions() == s.Definitions()) != same {
			t.Errorf("%T: the same definitions: %v", changes[0], !same)
		}
		s = next
	}
	step(false, &PutRelation{Rel: rel})
	seg := &Segment{ID: SegmentID{1}, Rows: 3, Inline: []byte{1}}
	step(true, &AppendSegments{Table: table, Segments: []*Segment{seg}}, &UniqueKeys{Table: table, Constraint: 5, Hashes: []uint64{1}})
	step(true, &Guard{Table: table, Since: s.Version()})
	step(true, &AllocOIDs{N: 3})
	view, err := s.Apply([]Change{&Truncate{Table: table}})
	if err != nil || view.Definitions() != s.Definitions() {
		t.Error(err)
	}
	if view, err = view.Apply([]Change{&PutComment{On: Dep{OID: table}, Text: "x"}}); err != nil || view.Definitions() == s.Definitions() {
		t.Error(err)
	}
	step(false, &PutRole{Role: &Role{OID: 20001, Name: "r"}}, &Truncate{Table: table})
	step(false, &PutSetting{Name: "a", Value: "b"})
	step(false, &DropRelation{OID: table})
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := UnmarshalState(b)
	if err != nil || restored.Definitions() == s.Definitions() || restored.Definitions() == New().Definitions() {
		t.Error("a restored state must have definitions of its own", err)
	}
}
