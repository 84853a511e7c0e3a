package catalog_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Written by versions that kept models in the catalog instead of in files: changes that make a
// model of two versions and a job with a checkpoint, and the state that results.
const (
	oldChanges = "BAnbAgHXAqCcAZgRAW0KAAQDowECE2xvZ2lzdGljX3JlZ3Jlc3Npb24CAXkFGQEAAAADAWEBYgIJAXgGvQUBAAAAFAAAAAAAAAAAAAAAAAAAAAAAAAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABG9uZQAAAAAAAAAAAAAAAAAAAAAAAAABgMSf1QwAAA5jbGFzc2lmaWNhdGlvbgABCWNvbnZlcmdlZAAAAgQBdwFoowEEE2xvZ2lzdGljX3JlZ3Jlc3Npb24CAXkFGQEAAAADAWEBYgIJAXgGvQUBAAAAFAAAAAAAAAAAAAAAAAAAAAAAAAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABHR3bwAAAAAAAAAAAAAAAAAAAAAAAAABgMSf1QwAAA5jbGFzc2lmaWNhdGlvbgABCWNvbnZlcmdlZAAAAgQBdwFoAAQAC1oBWKGcAQABbgAAAAAAAAAAB3J1bm5pbmcAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMPaGcAQEGAAAAAAAHAAAAAAAAAAAAAAAAAAAAAwECCQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	oldState   = "Ab4FAaKcAQcBGQsKcGdfY2F0YWxvZwoDBQoKAlVDBAAKAVUBDGMIcGdfdG9hc3QKAAEWmBEGcHVibGljCgMFCgoCVUMEAAoBVQEiyGUSaW5mb3JtYXRpb25fc2NoZW1hCgMFCgoCVUMEAAoBVQESyWUCbWwKAwUKCgJVQwQACgFVARfKZQdjbHVzdGVyCgMFCgoCVUMEAAoBVQEBAgEXCgl0cmlidXRhcnkBAQEBAQEBAQAAAAACAdcCoJwBmBEBbQoABAOjAQITbG9naXN0aWNfcmVncmVzc2lvbgIBeQUZAQAAAAMBYQFiAgkBeAa9BQEAAAAUAAAAAAAAAAAAAAAAAAAAAAAAAQIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEb25lAAAAAAAAAAAAAAAAAAAAAAAAAAGAxJ/VDAAADmNsYXNzaWZpY2F0aW9uAAEJY29udmVyZ2VkAAACBAF3AWijAQQTbG9naXN0aWNfcmVncmVzc2lvbgIBeQUZAQAAAAMBYQFiAgkBeAa9BQEAAAAUAAAAAAAAAAAAAAAAAAAAAAAAAQIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEdHdvAAAAAAAAAAAAAAAAAAAAAAAAAAGAxJ/VDAAADmNsYXNzaWZpY2F0aW9uAAEJY29udmVyZ2VkAAACBAF3AWgBBAIBXKGcAQABbgAAAAAAAQAAB3J1bm5pbmcAAAAAAAABBgAHAAAAAAAAAAAAAAAAAAAAAwECCQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQEAAQMZAgsAFXN5c3RlbSBjYXRhbG9nIHNjaGVtYRsDmBEAFnN0YW5kYXJkIHB1YmxpYyBzY2hlbWEAAAAAAAAAAAAAAAAAAAAAAAACCgAB"
)

// TestReadsInlineModels: logs and snapshots of versions that kept models in the catalog can be
// read, and the models and jobs in them can be changed.
func TestReadsInlineModels(t *testing.T) {
	bytesOf := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	changes, err := codec.Unmarshal[[]catalog.Change](bytesOf(oldChanges))
	if err != nil {
		t.Fatal(err)
	}
	logged := &db{t, catalog.New()}
	logged.do("", changes...)
	snapshot, err := catalog.UnmarshalState(bytesOf(oldState))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*db{logged, {t, snapshot}} {
		m := d.s.Model(catalog.PublicOID, "m")
		for i, want := range []string{"one", "two"} {
			v := m.Versions[i]
			if b := v.Blob(); string(b.Inline) != want || b.Bytes != 3 || b.SHA256 != v.SHA256 || !v.Converged || v.Warnings[0].Hint != "h" {
				t.Fatalf("%+v", v)
			}
		}
		if b := d.s.Job(20001).Blob(); b.Inline != nil || b.ID != (catalog.SegmentID{7}) || b.Bytes != 0 || len(b.Nodes) != 2 {
			t.Fatalf("%+v", b)
		}
		up := m.Bare()
		up.Default, up.Versions = 3, []catalog.ModelVersion{{Number: 3, File: catalog.SegmentID{8}, FileBytes: 99, FileNodes: []uint64{1}}}
		d.do("", &catalog.ChangeModel{Model: up, ExpectVersion: m.Version})
		if got := versions(d.s); got != "1 one, 2 two, 3 file of 99" {
			t.Fatal(got)
		}
	}
}

func versions(s *catalog.State) (out string) {
	for i, v := range s.Model(catalog.PublicOID, "m").Versions {
		if i > 0 {
			out += ", "
		}
		if b := v.Blob(); b.Inline != nil {
			out += fmt.Sprintf("%d %s", v.Number, b.Inline)
		} else {
			out += fmt.Sprintf("%d file of %d", v.Number, b.Bytes)
		}
	}
	return out
}

// TestAddAndDropVersions: a change to a model is as large as the versions that it adds, however
// many there are, and leaves all others as they are.
func TestAddAndDropVersions(t *testing.T) {
	d := &db{t, catalog.New()}
	version := func(n int, file byte, nodes ...uint64) catalog.ModelVersion {
		v := catalog.ModelVersion{Number: n}
		if v.Keep(&catalog.Segment{Inline: []byte{'a' + byte(n)}, Bytes: 1}); file != 0 {
			v.Keep(&catalog.Segment{ID: catalog.SegmentID{file}, Bytes: 1 << 20, Nodes: nodes})
		}
		return v
	}
	m := &catalog.Model{OID: 20000, Schema: catalog.PublicOID, Name: "m", Default: 1, Versions: []catalog.ModelVersion{version(1, 1, 5, 6)}}
	d.do("", &catalog.ChangeModel{Model: m})
	d.do(pgerr.SerializationFailure, &catalog.ChangeModel{Model: m})
	size := 0
	for n := 2; n <= 50; n++ {
		up := d.s.ModelByOID(20000).Bare()
		up.Versions = []catalog.ModelVersion{version(n, byte(n)*byte(n%2), 5, 7)}
		c := &catalog.ChangeModel{Model: up, ExpectVersion: uint64(n - 1)}
		if b := len(codec.Marshal([]catalog.Change{c})); size == 0 {
			size = b
		} else if b > size+64 {
			t.Fatalf("version %d is added by %d bytes, the second was by %d", n, b, size)
		}
		d.do("", c)
	}
	d.do("", &catalog.PutNode{Node: &catalog.Node{ID: 5, Name: "n"}}, &catalog.DropNode{ID: 5})
	for _, f := range d.s.BlobFiles() {
		if slices.Contains(f.File.Nodes, 5) || len(f.File.Nodes) != 1 {
			t.Fatalf("%s is on %v", f.File.ID, f.File.Nodes)
		}
	}
	if n := len(d.s.BlobFiles()); n != 25 {
		t.Fatalf("%d files", n)
	}
	d.do("", d.s.BlobFiles()[0].Held([]uint64{7, 8}))
	var drop []int
	for n := 4; n <= 50; n++ {
		drop = append(drop, n)
	}
	up := d.s.ModelByOID(20000).Bare()
	up.Name = "n"
	d.do("", &catalog.ChangeModel{Model: up, ExpectVersion: 50, Drop: drop})
	d.do("", &catalog.ChangeModel{Model: func() *catalog.Model { up.Name = "m"; return up }(), ExpectVersion: 51})
	if got := versions(d.s); got != "1 file of 1048576, 2 c, 3 file of 1048576" {
		t.Fatal(got)
	}
	if got := d.s.BlobFiles()[0].File; len(got.Nodes) != 2 || got.ID != (catalog.SegmentID{1}) {
		t.Fatalf("%+v", got)
	}
	if got := catalog.Files([]catalog.Change{&catalog.ChangeModel{Model: m}, &catalog.AppendSegments{Segments: []*catalog.Segment{seg(9, 1), {Inline: []byte{1}}}}}); len(got) != 2 {
		t.Fatalf("%d files of a commit", len(got))
	}
}
