package catalog_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

func table(oid types.OID, name string) *catalog.Relation {
	return &catalog.Relation{OID: oid, Schema: catalog.PublicOID, Name: name, Kind: catalog.KindTable, Owner: catalog.BootstrapRoleOID, Partitions: 2,
		Columns: []catalog.Column{{Name: "a", Num: 1, Type: types.Int4}, {Name: "b", Num: 2, Type: types.Text, Missing: "x"}}}
}

func seg(n byte, rows int64) *catalog.Segment {
	return &catalog.Segment{ID: catalog.SegmentID{n}, Rows: rows, Nodes: []uint64{1, 2}, Zones: []catalog.Zone{{Column: 1, Min: int64(1), Max: int64(9)}}}
}

// db is a catalog state; each call of do commits one set of changes to it.
type db struct {
	t *testing.T
	s *catalog.State
}

// checkLive compares the numbers of live rows that manifests keep with those checkLive over their
// segments.
func checkLive(t *testing.T, s *catalog.State) {
	t.Helper()
	for _, r := range s.Relations() {
		m := s.Manifest(r.OID)
		if m == nil {
			continue
		}
		for p, segs := range m.Partitions {
			n := int64(0)
			for _, g := range segs {
				n += g.Live()
			}
			if got := m.LiveIn(p); got != n {
				t.Fatalf("partition %d of %s is recorded with %d rows, has %d", p, r.Name, got, n)
			}
		}
	}
}

func (d *db) do(want pgerr.Code, changes ...catalog.Change) catalog.Outcome {
	d.t.Helper()
	// Changes are always encoded and decoded first, as they are in the log.
	changes, err := codec.Unmarshal[[]catalog.Change](codec.Marshal(changes))
	if err != nil {
		d.t.Fatal(err)
	}
	before, _ := d.s.MarshalBinary()
	next, out, err := d.s.Commit(d.s.Version()+1, changes)
	if got := pgerr.CodeOf(err); got != want {
		d.t.Fatalf("error %v, want code %q", err, want)
	}
	if after, _ := d.s.MarshalBinary(); !bytes.Equal(before, after) {
		d.t.Fatal("the old state changed")
	}
	if err == nil {
		d.s = next
		checkLive(d.t, next)
	}
	return out
}

func TestNames(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")})
	d.do(pgerr.DuplicateTable, &catalog.PutRelation{Rel: table(20001, "t")})
	d.do(pgerr.SerializationFailure, &catalog.PutRelation{Rel: table(20000, "u")})
	d.do("", &catalog.PutRelation{Rel: table(20000, "u"), ExpectVersion: 1})
	if d.s.Relation(catalog.PublicOID, "t") != nil || d.s.Relation(catalog.PublicOID, "u").Version != 2 {
		t.Fatal("rename")
	}
	if d.s.NextOID() != 20001 {
		t.Fatal(d.s.NextOID())
	}
	d.do("", &catalog.PutRelation{Rel: table(20001, "t")})
	// All or nothing.
	d.do(pgerr.DuplicateSchema, &catalog.DropRelation{OID: 20001}, &catalog.PutSchema{Schema: &catalog.Schema{OID: 20005, Name: "public"}})
	if d.s.Relation(catalog.PublicOID, "t") == nil {
		t.Fatal("half a commit")
	}
	d.do("", &catalog.PutSchema{Schema: &catalog.Schema{OID: 20005, Name: "s"}}, &catalog.PutEnum{Enum: &catalog.EnumType{OID: 20006, ArrayOID: 20007, Schema: 20005, Name: "e"}})
	d.do(pgerr.DependentObjectsStillExist, &catalog.DropSchema{OID: 20005})
	d.do("", &catalog.DropSchema{OID: 20005}, &catalog.DropEnum{OID: 20006})
	view := &catalog.Relation{OID: 20010, Schema: catalog.PublicOID, Name: "v", Kind: catalog.KindView, DependsOn: []catalog.Dep{{OID: 20001}}}
	d.do("", &catalog.PutRelation{Rel: view})
	d.do(pgerr.DependentObjectsStillExist, &catalog.DropRelation{OID: 20001})
	d.do("", &catalog.DropRelation{OID: 20001}, &catalog.DropRelation{OID: 20010})
	d.do(pgerr.SerializationFailure, &catalog.PutRelation{Rel: view})
	out := d.do("", &catalog.AllocOIDs{N: 10}, &catalog.AllocOIDs{N: 1})
	if out.OIDs[1] != out.OIDs[0]+10 {
		t.Fatal(out)
	}
}

func TestSegments(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, &catalog.AppendSegments{Table: 20000, Part: 1, Segments: []*catalog.Segment{seg(1, 10)}, ExpectVersion: 1})
	d.do("", &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(2, 5), seg(3, 5)}})
	d.do(pgerr.SerializationFailure, &catalog.AppendSegments{Table: 20000, ExpectVersion: 7})
	if m := d.s.Manifest(20000); m.Rows() != 20 || m.Appended != 2 || m.Removed != 0 {
		t.Fatalf("%+v", m)
	}
	del := &catalog.SetDeleted{Table: 20000, Segment: catalog.SegmentID{2}, Bitmap: []byte{1}, Rows: 2}
	d.do("", del)
	d.do(pgerr.SerializationFailure, del)
	d.do(pgerr.SerializationFailure, &catalog.ReplaceSegments{Table: 20000, Old: []catalog.SegmentRef{{ID: catalog.SegmentID{2}}}})
	d.do("", &catalog.ReplaceSegments{Table: 20000, Old: []catalog.SegmentRef{{ID: catalog.SegmentID{2}, DeletedRows: 2}, {ID: catalog.SegmentID{3}}}, New: []*catalog.Segment{seg(4, 8)}})
	d.do(pgerr.SerializationFailure, &catalog.SetDeleted{Table: 20000, Segment: catalog.SegmentID{3}, Rows: 1})
	d.do(pgerr.SerializationFailure, &catalog.Guard{Table: 20000, Since: 2, Deletes: true})
	d.do("", &catalog.Guard{Table: 20000, Since: 3, Deletes: true, Appends: true})
	d.do("", &catalog.SetDeleted{Table: 20000, Segment: catalog.SegmentID{4}, Bitmap: []byte{2}, Rows: 8}, &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(5, 1)}})
	if m := d.s.Manifest(20000); m.Rows() != 11 || len(m.Partitions[0]) != 1 || m.Partitions[0][0].ID[0] != 5 {
		t.Fatalf("%+v", m)
	}
	d.do("", &catalog.DropNode{ID: 2}, &catalog.SetNodes{Table: 20000, Segment: catalog.SegmentID{5}, Nodes: []uint64{7}})
	if m := d.s.Manifest(20000); len(m.Partitions[1][0].Nodes) != 1 || m.Partitions[0][0].Nodes[0] != 7 {
		t.Fatalf("%+v", m.Partitions[1][0])
	}
	d.do("", &catalog.Truncate{Table: 20000})
	if d.s.Manifest(20000).Rows() != 0 {
		t.Fatal("truncate")
	}
}

// TestKnownSegments: a segment can be added only once, whatever the id of the commit.
func TestKnownSegments(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, &catalog.PutRelation{Rel: table(20001, "u")})
	add := func(part int, segs ...*catalog.Segment) catalog.Change {
		return &catalog.AppendSegments{Table: 20000, Part: part, Segments: segs}
	}
	d.do("", add(0, seg(1, 10), seg(2, 10)))
	d.do(pgerr.InternalError, add(0, seg(2, 10)))
	d.do(pgerr.InternalError, add(1, seg(3, 10), seg(1, 10)))
	d.do(pgerr.InternalError, add(1, seg(3, 10), seg(3, 10)))
	d.do(pgerr.InternalError, add(1, seg(3, 10)), add(0, seg(3, 10)))
	merge := &catalog.ReplaceSegments{Table: 20000, Part: 0, Old: []catalog.SegmentRef{{ID: seg(1, 0).ID}, {ID: seg(2, 0).ID}}, New: []*catalog.Segment{seg(4, 20)}}
	d.do("", merge)
	d.do(pgerr.InternalError, add(0, seg(1, 10))) // it was added before and replaced by a compaction since
	d.do(pgerr.InternalError, &catalog.ReplaceSegments{Table: 20000, Part: 0, Old: []catalog.SegmentRef{{ID: seg(4, 0).ID}}, New: []*catalog.Segment{seg(4, 20)}})
	d.do("", add(0, seg(3, 10)))
	if got := d.s.Manifest(20000).Rows(); got != 30 {
		t.Fatalf("%d rows", got)
	}
}

// TestForks makes many states from one another, as a tree, each with another segment. States share
// memory; none may see segments of a branch that it does not descend from.
func TestForks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	type branch struct {
		s    *catalog.State
		want []byte
	}
	s, _, err := catalog.New().Commit(1, []catalog.Change{&catalog.PutRelation{Rel: table(20000, "t")}})
	if err != nil {
		t.Fatal(err)
	}
	all := []branch{{s: s}}
	for i := range 2000 {
		b := all[rnd.IntN(len(all))]
		n := byte(i)
		next, err := b.s.Apply([]catalog.Change{&catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(n, 1)}}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, branch{next, append(bytes.Clone(b.want), n)})
	}
	for _, b := range all {
		segs := b.s.Manifest(20000).Partitions[0]
		if len(segs) != len(b.want) {
			t.Fatal("length")
		}
		for i := range segs {
			if segs[i].ID[0] != b.want[i] {
				t.Fatalf("segment %d of %v", i, b.want)
			}
		}
	}
}

func TestUniqueKeys(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")})
	keys := func(read uint64, h ...uint64) catalog.Change {
		return &catalog.UniqueKeys{Table: 20000, Constraint: 9, Hashes: h, ReadVersion: read}
	}
	d.do("", keys(1, 5, 3), keys(1, 3)) // claims of one commit do not conflict with each other
	d.do(pgerr.SerializationFailure, keys(1, 3))
	d.do("", keys(1, 4))
	d.do("", keys(2, 3)) // it read the state after the first claim, so it has seen that key
	all := &catalog.UniqueKeys{Table: 20000, Constraint: 9, All: true, ReadVersion: d.s.Version()}
	d.do("", all)
	d.do(pgerr.SerializationFailure, all)
	d.do(pgerr.SerializationFailure, keys(2, 77))
	old := d.s.Version()
	for i := range 3000 {
		d.s, _, _ = d.s.Commit(d.s.Version()+1, []catalog.Change{keys(d.s.Version(), uint64(1000+i))})
	}
	d.do(pgerr.SerializationFailure, keys(old, 1)) // so long ago that the keys claimed since are forgotten: refused to be safe
	d.do("", keys(d.s.Version()-10, 1))
	d.do("", &catalog.DropRelation{OID: 20000})
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, keys(0, 1))
}

func TestSequences(t *testing.T) {
	d := &db{t, catalog.New()}
	q := &catalog.Sequence{Type: types.Int8, Start: 1, Increment: 2, Min: 1, Max: 8}
	d.do("", &catalog.PutRelation{Rel: &catalog.Relation{OID: 20000, Schema: catalog.PublicOID, Name: "s", Kind: catalog.KindSequence, Seq: q}})
	next := func(n int64) string {
		r := d.do("", &catalog.AdvanceSequence{OID: 20000, N: n}).Sequences[0]
		return fmt.Sprint(r.First, "+", r.Step, "x", r.Count)
	}
	for _, want := range []string{"1+2x1", "3+2x3"} {
		if got := next(int64(len(want))); want != "1+2x1" && got != want {
			t.Fatal(got)
		} else if want == "1+2x1" {
			d.do("", &catalog.SetSequence{OID: 20000, Value: catalog.SeqValue{Last: 1, Called: true}})
		}
	}
	d.do(pgerr.SequenceGeneratorLimitExceeded, &catalog.AdvanceSequence{OID: 20000, N: 1})
	d.do("", &catalog.SetSequence{OID: 20000, Value: catalog.SeqValue{Last: 7}})
	if got := next(4); got != "7+2x1" {
		t.Fatal(got)
	}
}

func TestJobs(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(1, 1)}})
	job := &catalog.Job{OID: 20001, Model: "m", Epoch: 1, State: catalog.JobRunning, Tables: []types.OID{20000}}
	d.do("", &catalog.PutJob{Job: job})
	d.do(pgerr.DuplicateObject, &catalog.PutJob{Job: job})
	d.do("", &catalog.JobProgress{OID: 20001, ExpectEpoch: 1, Iteration: 3, History: []catalog.Iteration{{Number: 2}, {Number: 3}}, Checkpoint: []byte{1}})
	d.do("", &catalog.TakeJob{OID: 20001, ExpectEpoch: 1, Coordinator: 9})
	// A coordinator with an old epoch, which lost the job to another, cannot write.
	d.do(pgerr.SerializationFailure, &catalog.JobProgress{OID: 20001, ExpectEpoch: 1})
	d.do(pgerr.SerializationFailure, &catalog.TakeJob{OID: 20001, ExpectEpoch: 1})
	d.do(pgerr.SerializationFailure, &catalog.EndJob{OID: 20001, ExpectEpoch: 1, State: catalog.JobDone})
	// The new coordinator continues after iteration 2: it replaces the row of iteration 3.
	d.do("", &catalog.JobProgress{OID: 20001, ExpectEpoch: 2, Iteration: 3, History: []catalog.Iteration{{Number: 3, Seconds: 1}}})
	j := d.s.Job(20001)
	if j.Iteration != 3 || len(j.History) != 2 || j.History[1].Seconds != 1 || j.Coordinator != 9 || len(j.Checkpoint) != 1 {
		t.Fatalf("%+v", j)
	}
	// The job reads the rows that were there when it began, though the table is truncated since.
	d.do("", &catalog.Truncate{Table: 20000})
	if n := len(d.s.Manifest(20000).Partitions[0]); n != 0 {
		t.Fatalf("%d segments", n)
	}
	if m := d.s.Job(20001).At(d.s).Manifest(20000); len(m.Partitions[0]) != 1 {
		t.Fatalf("the job's rows are gone: %+v", m)
	}
	d.do("", &catalog.EndJob{OID: 20001, ExpectEpoch: 2, State: catalog.JobFailed, Error: "no"})
	d.do("", &catalog.TakeJob{OID: 20001, ExpectEpoch: 2, Coordinator: 8, Restart: true})
	if j := d.s.Job(20001); j.State != catalog.JobRunning || j.Error != "" || j.Epoch != 3 || len(j.Reads) != 1 {
		t.Fatalf("%+v", j)
	}
	// What happened to it stays: of checkpoints in a row the last, and of very many takings the newest.
	d.do("", &catalog.JobProgress{OID: 20001, ExpectEpoch: 3, Iteration: 4, Checkpoint: []byte{1, 2}}, &catalog.JobProgress{OID: 20001, ExpectEpoch: 3, Iteration: 5, Checkpoint: []byte{1, 2, 3}})
	var kinds []string
	for _, m := range d.s.Job(20001).Marks {
		kinds = append(kinds, fmt.Sprint(m.Kind, " ", m.Iteration, " ", m.Node, " ", m.Bytes))
	}
	if got := strings.Join(kinds, ", "); got != "started 0 0 0, checkpoint 3 0 1, taken over 3 9 0, failed 3 9 0, resumed 3 8 0, checkpoint 5 8 3" {
		t.Fatal(got)
	}
	for e := uint64(3); e < 300; e++ {
		d.do("", &catalog.TakeJob{OID: 20001, ExpectEpoch: e, Coordinator: e})
	}
	if m := d.s.Job(20001).Marks; len(m) != 100 || m[0].Kind != "started" || m[99].Node != 299 {
		t.Fatalf("%d marks: %+v", len(m), m)
	}
}

func TestStateRoundTrip(t *testing.T) {
	d := &db{t, catalog.New()}
	r := table(20000, "t")
	r.Options = map[string]string{"b": "1", "a": "2", "c": ""}
	r.Columns[0].Missing = number.DecimalFromInt64(125, 2)
	r.Columns[1].Type.Rec = &types.Record{Fields: []types.Field{{Name: "f", Type: types.Int4}}}
	d.do("", &catalog.PutRelation{Rel: r}, &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(1, 1)}},
		&catalog.PutComment{On: catalog.Dep{OID: 20000, Column: 1}, Text: "hello"}, &catalog.PutSetting{Name: "x", Value: "y"},
		&catalog.UniqueKeys{Table: 20000, Constraint: 4, Hashes: []uint64{3, 1}}, &catalog.PutNode{Node: &catalog.Node{ID: 1 << 63, Name: "n"}},
		&catalog.PutStatistics{Statistics: &catalog.Statistics{Table: 20000, Columns: []catalog.ColumnStatistics{{Column: 1, Type: types.Int4OID, Common: []types.Datum{int64(5)}, Freqs: []float64{0.5}}}}})
	b, err := d.s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s, err := catalog.UnmarshalState(b)
	if err != nil {
		t.Fatal(err)
	}
	b2, _ := s.MarshalBinary()
	if !bytes.Equal(b, b2) {
		t.Fatal("a restored state differs")
	}
	if k := s.Statistics(20000).Of(&r.Columns[0]); k == nil || k.Freqs[0] != 0.5 {
		t.Fatal("the statistics are lost")
	}
	if n, _, err := s.Commit(9, []catalog.Change{&catalog.DropRelation{OID: 20000}}); err != nil || n.Statistics(20000) != nil || s.Statistics(20000) == nil {
		t.Fatal("statistics of a table that is gone", err)
	}
	// A state that was restored from bytes changes as the original does.
	c := []catalog.Change{&catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(2, 1)}}, &catalog.UniqueKeys{Table: 20000, Constraint: 4, Hashes: []uint64{7}, ReadVersion: 1}}
	x, _, err1 := d.s.Commit(9, c)
	y, _, err2 := s.Commit(9, c)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	bx, _ := x.MarshalBinary()
	by, _ := y.MarshalBinary()
	if !bytes.Equal(bx, by) {
		t.Fatal("states diverge")
	}
	for i := range b {
		catalog.UnmarshalState(b[:i]) // must not panic
	}
}

// TestFinalized: the version never goes back, is part of snapshots, and one that this program does not read
// is refused in words before anything of it is decoded. Until it is raised a snapshot begins as it always did.
func TestFinalized(t *testing.T) {
	d := &db{t, catalog.New()}
	b, _ := d.s.MarshalBinary()
	if d.s.Finalized() != 1 || b[0] != 1 {
		t.Errorf("a new state is of version %d and begins with %d", d.s.Finalized(), b[0])
	}
	d.do("", &catalog.FinalizeVersion{Version: version.Binary}, &catalog.FinalizeVersion{Version: 1})
	b, _ = d.s.MarshalBinary()
	s, err := catalog.UnmarshalState(b)
	if err != nil || s.Finalized() != version.Binary || b[0] != 2 || b[1] != version.Binary {
		t.Fatal(err, s.Finalized(), b[:2])
	}
	b[1]++
	if _, err := catalog.UnmarshalState(b); !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Errorf("a snapshot of a later version: %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	s, _, _ := catalog.New().Commit(1, []catalog.Change{&catalog.PutRelation{Rel: table(20000, "t")}})
	for i := 0; b.Loop(); i++ {
		s, _, _ = s.Commit(s.Version()+1, []catalog.Change{&catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(byte(i), 1)}}})
	}
}
