package catalog

import (
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestStored: a file that is in the storage stays there whatever is recorded of its nodes, until its cluster is restored on disks; and
// a cluster that has lost its storage can be told.
func TestStored(t *testing.T) {
	s := New()
	commit := func(c ...Change) {
		t.Helper()
		n, _, err := s.Commit(s.Version()+1, c)
		if err != nil {
			t.Fatal(err)
		}
		s = n
	}
	const table, model = types.OID(20000), types.OID(20001)
	id, blob := SegmentID{1}, SegmentID{2}
	commit(&PutRelation{Rel: &Relation{OID: table, Schema: PublicOID, Name: "t", Kind: KindTable, Partitions: 1, Owner: BootstrapRoleOID}},
		&AppendSegments{Table: table, Segments: []*Segment{{ID: id, Rows: 1, Bytes: 1, Nodes: []uint64{1}}}},
		&PutModel{Model: &Model{OID: model, Schema: PublicOID, Name: "m", Owner: BootstrapRoleOID, Default: 1, Last: 1, Versions: []ModelVersion{{Number: 1, File: blob, FileBytes: 1, FileNodes: []uint64{1}}}}})
	held := func(want ...uint64) {
		t.Helper()
		n := 0
		for _, h := range HeldFiles(s) {
			n++
			if got := slices.Sorted(slices.Values(h.File.Nodes)); !slices.Equal(got, want) {
				t.Errorf("%v hold the file, not %v", got, want)
			}
			if !h.Lasting {
				t.Error("a file of a table or a model does not last")
			}
		}
		if n != 2 {
			t.Errorf("%d files", n)
		}
	}
	record := func(nodes ...uint64) {
		t.Helper()
		var c []Change
		for _, h := range HeldFiles(s) {
			c = append(c, h.Held(nodes))
		}
		commit(c...)
	}
	record(1, Bucket)
	held(1, Bucket)
	record(3) // by who has not heard of it
	held(3, Bucket)
	b, err := s.MarshalBinary()
	if err == nil {
		s, err = UnmarshalState(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	Refound(s, ClusterID{1}, Bucket)
	OnStorage(s, "s3://b/p")
	held(Bucket)
	if Storage(s) != "s3://b/p" || Archiving(s) == nil || Archiving(s).Version != s.Version() {
		t.Error(Storage(s), Archiving(s))
	}
	was := *Archived(s)
	now := was
	now.TakenOver = 7
	if err := TakenOver(s); err != nil {
		t.Error(err)
	}
	commit(&PutArchive{Archive: now, After: was}, &WantArchive{})
	if err := TakenOver(s); !pgerr.Is(err, pgerr.ReadOnlySQLTransaction) || s.Wanted() != s.Version() {
		t.Error(err, s.Wanted())
	}
	Refound(s, ClusterID{2}, 5)
	held(5)
	if Storage(s) != "" || TakenOver(s) != nil {
		t.Error("a cluster that was restored on disks has a storage")
	}
}
