package catalog

import (
	"reflect"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestArchiveKeepsFiles: a file that leaves the catalog stays until the commits that need it are in the archive, however short the
// past is kept, and no longer.
func TestArchiveKeepsFiles(t *testing.T) {
	s, at := New(), int64(1_700_000_000_000_000)
	commit := func(c ...Change) {
		t.Helper()
		at += 1_000_000
		n, _, err := CommitAt(s, s.Version()+1, at, c)
		if err != nil {
			t.Fatal(err)
		}
		s = n
	}
	leave := func() {
		t.Helper()
		commit(&AppendSegments{Table: 20000, Segments: []*Segment{{ID: SegmentID{1}, Rows: 1, Bytes: 1, Nodes: []uint64{1}}}})
		commit(&Truncate{Table: 20000})
	}
	files := func(want int, when string) {
		t.Helper()
		if got := len(s.Graves()); got != want {
			t.Errorf("%s: %d files are kept, not %d", when, got, want)
		}
	}
	record := func(a Archive) {
		t.Helper()
		was := Archive{}
		if x := Archived(s); x != nil {
			was = *x
		}
		commit(&PutArchive{Archive: a, After: was})
	}
	commit(&FinalizeVersion{Version: 2}, &PutSetting{Name: SettingRetention, Value: "0"}, &PutSetting{Name: SettingArchive, Value: "/a"},
		&PutRelation{Rel: &Relation{OID: 20000, Schema: PublicOID, Name: "t", Kind: KindTable, Partitions: 1, Owner: BootstrapRoleOID}})
	leave()
	commit()
	files(0, "before anything is recorded")
	record(Archive{Place: "/a", Version: s.Version(), Micros: s.Time().UnixMicro()})
	leave()
	commit()
	files(1, "while the first backup is made")
	record(Archive{Place: "/a", Version: Archived(s).Version, Micros: Archived(s).Micros, Error: "x"})
	files(0, "when that failed")
	record(Archive{Place: "/a", Version: s.Version(), Micros: s.Time().UnixMicro(), Based: true})
	leave()
	files(1, "before the commits are there")
	record(Archive{Place: "/a", Version: s.Version() - 1, Micros: s.Time().UnixMicro() - 1_000_000, Based: true, Error: "x"})
	files(1, "when some are there")
	b, err := s.MarshalBinary()
	if err == nil {
		s, err = UnmarshalState(b)
	}
	if err != nil || *Archived(s) != (Archive{Place: "/a", Version: s.Version() - 2, Micros: s.Time().UnixMicro() - 2_000_000, Based: true, Error: "x"}) {
		t.Error(Archived(s), err)
	}
	record(Archive{Place: "/a", Version: s.Version() - 1, Micros: s.Time().UnixMicro(), Based: true})
	files(0, "when all are there")
	leave()
	files(1, "before the commits are there")
	commit(&PutSetting{Name: SettingArchive, Unset: true})
	files(0, "without an archive")
	commit(&PutSetting{Name: SettingArchive, Value: "/a"})
	if Archiving(s).Based {
		t.Error("an archive to which commits did not go for a while goes on")
	}

	if _, _, err := CommitAt(s, s.Version()+1, at, []Change{&PutArchive{Archive: Archive{Place: "/b"}}}); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("who does not know what is recorded: %v", err)
	}
	Refound(s, ClusterID{1}, 1)
	if Archived(s) != nil {
		t.Error("another cluster goes on with the archive")
	}
}

// TestArchivedFiles: each kind of change that can put a file into the catalog is known to those that archive it.
func TestArchivedFiles(t *testing.T) {
	var has func(x reflect.Type, seen map[reflect.Type]bool) bool
	has = func(x reflect.Type, seen map[reflect.Type]bool) bool {
		switch {
		case seen[x]:
			return false
		case x == reflect.TypeFor[Segment](), x == reflect.TypeFor[SegmentID]():
			return true
		}
		seen[x] = true
		switch x.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			return has(x.Elem(), seen)
		case reflect.Struct:
			for i := range x.NumField() {
				if f := x.Field(i); f.IsExported() && has(f.Type, seen) {
					return true
				}
			}
		}
		return false
	}
	// Others name files that are there, or checkpoints.
	known := []string{"PutModel", "ChangeModel", "PutJob", "AppendSegments", "ReplaceSegments",
		"JobProgress", "SetDeleted", "DeleteRows", "LockRows", "SetJobNodes", "SetNodes"}
	for _, k := range kinds {
		x := reflect.TypeOf(k).Elem()
		if has(x, map[reflect.Type]bool{}) && !slices.Contains(known, x.Name()) {
			t.Errorf("%s has files: does ArchivedFiles list them?", x.Name())
		}
	}
	seg := func(b byte) *Segment { return &Segment{ID: SegmentID{b}, Bytes: 1} }
	got := ArchivedFiles([]Change{
		&AppendSegments{Segments: []*Segment{seg(1), {Inline: []byte{1}}}}, &ReplaceSegments{New: []*Segment{seg(2)}},
		&PutModel{Model: &Model{Versions: []ModelVersion{{Number: 1, File: SegmentID{3}}}}}, &ChangeModel{Model: &Model{Versions: []ModelVersion{{Number: 1, File: SegmentID{4}}}}},
		&PutJob{Job: &Job{Reads: []*Manifest{{Table: types.OID(1), Partitions: [][]*Segment{{seg(5)}}}}}},
	})
	var ids []byte
	for _, g := range got {
		ids = append(ids, g.ID[0])
	}
	if slices.Sort(ids); !slices.Equal(ids, []byte{1, 2, 3, 4, 5}) {
		t.Error(ids)
	}
}
