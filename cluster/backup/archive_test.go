package backup

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// archived is a cluster whose commits are kept, and a directory that is its archive.
type archived struct {
	*cluster
	t      *testing.T
	path   string
	dir    *Dir
	log    []past.Record
	states []*catalog.State
}

func newArchive(t *testing.T) *archived {
	t.Helper()
	a := &archived{cluster: newCluster(t, 1), t: t, path: t.TempDir()}
	a.cluster.commit(t, &catalog.SetCluster{ID: catalog.ClusterID{1}})
	var err error
	if a.dir, err = Create(disk.OS, a.path); err == nil {
		_, err = a.dir.Claim(a.state.Cluster())
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// commit commits a second later.
func (a *archived) commit(changes ...catalog.Change) {
	a.t.Helper()
	version, micros := a.state.Version()+1, int64(1_700_000_000_000_000)+int64(a.state.Version())*1_000_000
	cmd := meta.NewCommand(meta.CommitID{}, time.UnixMicro(micros), changes)
	r := past.Record{Before: a.state.Version(), Version: version, Micros: micros, Command: cmd.Bytes}
	next, err := r.Apply(a.state)
	if err != nil {
		a.t.Fatal(err)
	}
	a.state, a.log, a.states = next, append(a.log, r), append(a.states, next)
}

// more makes commits that add a file each.
func (a *archived) more(n int) {
	a.t.Helper()
	for range n {
		i := len(a.bytes)
		b := bytes.Repeat([]byte(fmt.Sprint(i, ",")), 100)
		f := segment(i, b)
		a.bytes[f.ID] = b
		a.commit(&catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{f}})
	}
}

// send writes the commits between two versions to the archive.
func (a *archived) send(from, to uint64) string {
	a.t.Helper()
	var records []past.Record
	var ids []catalog.SegmentID
	for _, r := range a.log {
		if r.Version <= from || r.Version > to {
			continue
		}
		records = append(records, r)
		changes, err := r.Changes()
		if err == nil {
			err = a.dir.PutAll(context.Background(), catalog.ArchivedFiles(changes), Options{Source: a.source})
		}
		if err != nil {
			a.t.Fatal(err)
		}
		for _, f := range catalog.ArchivedFiles(changes) {
			ids = append(ids, f.ID)
		}
	}
	name, err := a.dir.WriteLog(records, ids)
	if err != nil {
		a.t.Fatal(err)
	}
	return name
}

// base makes a backup.
func (a *archived) base() {
	a.t.Helper()
	h := Head{Cluster: a.state.Cluster(), Version: a.state.Version(), At: a.state.Time()}
	if _, _, err := a.dir.Write(context.Background(), h, a.state, Options{Source: a.source}); err != nil {
		a.t.Fatal(err)
	}
}

// at restores to a moment.
func (a *archived) at(asOf time.Time) (*catalog.State, error) {
	b, err := a.dir.Choose(context.Background(), "", asOf, a.dir.Read, nil, nil)
	if err != nil {
		return nil, err
	}
	return b.Catalog()
}

// check compares what is restored to the moments of all states from one version to before another; the moments before fail as
// outside of what there is, those after with a code.
func (a *archived) check(from, to uint64, code pgerr.Code) {
	a.t.Helper()
	for i, s := range a.states {
		at := s.Time()
		if i < len(a.states)-1 {
			at = at.Add(300 * time.Millisecond)
		}
		got, err := a.at(at)
		if s.Version() < from || s.Version() >= to {
			want := code
			if s.Version() < from {
				want = pgerr.InvalidParameterValue
			}
			if pgerr.CodeOf(err) != want {
				a.t.Errorf("version %d: %v, not %s", s.Version(), err, want)
			}
			continue
		}
		if err != nil {
			a.t.Errorf("version %d: %v", s.Version(), err)
			continue
		}
		was, _ := s.MarshalBinary()
		is, _ := got.MarshalBinary()
		if !bytes.Equal(was, is) {
			a.t.Errorf("version %d is another state, of version %d", s.Version(), got.Version())
		}
		for f := range catalog.FilesOf(got) {
			if err := a.dir.Give(context.Background(), "x", f, func([]byte) error { return nil }); err != nil {
				a.t.Error(err)
			}
		}
	}
}

// TestArchive: an archive is restored to each moment of its history, and to no other; files of commits may overlap; one that is torn
// is told, and costs no more than what it alone has; backups that are removed take their commits with them.
func TestArchive(t *testing.T) {
	a := newArchive(t)
	a.more(2)
	a.base()
	first := a.state.Version()
	a.more(10)
	a.send(first-1, first+4)
	a.send(first+2, first+6) // of another node
	torn := a.send(first+6, first+8)
	a.send(first+8, a.state.Version())
	last := a.state.Version()
	a.check(first, last+1, pgerr.InvalidParameterValue)
	if s, err := a.at(time.Time{}); err != nil || s.Version() != last {
		t.Error("without a time", s, err)
	}
	if _, err := a.at(a.state.Time().Add(time.Hour)); err == nil || !strings.Contains(pgerr.From(err).Hint, "from 2023-11-14 22:13:24Z to 2023-11-14 22:13:34Z") {
		t.Errorf("%+v", err)
	}
	for _, v := range []uint64{first, first + 5, last} {
		if ok, err := a.dir.Leads(v, a.dir.Read); !ok || err != nil {
			t.Error(v, ok, err)
		}
	}
	if ok, _ := a.dir.Leads(last+1, a.dir.Read); ok {
		t.Error("it leads further than its commits")
	}

	// Torn.
	path := a.dir.join("log", torn)
	whole, err := a.dir.read(path, maxLog)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.dir.replace("log/"+torn, [][]byte{whole[:len(whole)-40]}); err != nil {
		t.Fatal(err)
	}
	a.check(first, first+6, pgerr.DataCorrupted)
	if v, err := a.dir.Verify(context.Background()); err != nil || len(v.Damage) != 1 || !strings.Contains(v.Damage[0].Error(), torn) {
		t.Error(v, err)
	}
	again := a.send(first+5, first+9) // another node's have all that it had
	a.check(first, last+1, pgerr.InvalidParameterValue)

	// Lost: what leads to nowhere is told, and is not taken for the end.
	if err := a.dir.fs.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := a.dir.fs.Remove(a.dir.join("log", again)); err != nil {
		t.Fatal(err)
	}
	if v, err := a.dir.Verify(context.Background()); err != nil || len(v.Damage) != 1 || !strings.Contains(v.Damage[0].Error(), fmt.Sprintf("the commits between versions %d and %d are missing", first+6, first+8)) {
		t.Errorf("%+v %v", v, err)
	}
	if s, err := a.at(time.Time{}); !pgerr.Is(err, pgerr.InvalidParameterValue) || !strings.HasSuffix(pgerr.From(err).Hint, "any time from 2023-11-14 22:13:24Z to 2023-11-14 22:13:30Z.") {
		t.Errorf("%v %+v", s, err)
	}
	a.check(first, first+6, pgerr.InvalidParameterValue)
	if err := a.dir.replace("log/"+torn, [][]byte{whole}); err != nil {
		t.Fatal(err)
	}

	// A gap, and a backup behind it.
	a.more(2)
	a.base()
	second := a.state.Version()
	a.more(2)
	a.send(second, a.state.Version())
	if _, err := a.at(a.states[len(a.states)-4].Time()); err == nil || !strings.Contains(pgerr.From(err).Hint, ", and from ") {
		t.Errorf("%+v", err)
	}
	if v, err := a.dir.Verify(context.Background()); err != nil || len(v.Damage) > 0 || len(v.Windows) != 2 {
		t.Errorf("%+v %v", v, err)
	}

	// The first backup goes, and with it its commits. A file that is being added stays.
	adding := segment(999, []byte("x"))
	a.bytes[adding.ID] = []byte("x")
	if err := a.dir.PutAll(context.Background(), []*catalog.Segment{adding}, Options{Source: a.source}); err != nil {
		t.Fatal(err)
	}
	live := func() (*catalog.State, error) {
		s, err := a.state.Apply([]catalog.Change{&catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{adding}}})
		return s, err
	}
	if err := a.dir.Keep(1, a.state.Cluster(), "", a.dir.Read, live); err != nil {
		t.Fatal(err)
	}
	a.check(second, a.state.Version()+1, pgerr.InvalidParameterValue)
	if logs, _ := a.dir.logs(); len(logs) != 1 {
		t.Error(logs)
	}
	if err := a.dir.Give(context.Background(), "x", adding, func([]byte) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := a.dir.Keep(1, a.state.Cluster(), "", a.dir.Read, func() (*catalog.State, error) { return a.state, nil }); err != nil {
		t.Fatal(err)
	}
	if err := a.dir.Give(context.Background(), "x", adding, func([]byte) error { return nil }); err == nil {
		t.Error("a file that nothing names is there")
	}

	// It is one cluster's.
	other, err := Open(disk.OS, a.path)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := other.Claim(catalog.ClusterID{1}); made || err != nil {
		t.Error(made, err)
	}
	if _, err := other.Claim(catalog.ClusterID{2}); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Error(err)
	}
	if _, _, err := other.Write(context.Background(), Head{Cluster: catalog.ClusterID{2}, At: time.Now()}, a.state, Options{Source: a.source}); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Error(err)
	}
}
