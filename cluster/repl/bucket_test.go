package repl

import (
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestTrim: a node drops files that are in the cluster's storage, unless another cluster has taken that over.
func TestTrim(t *testing.T) {
	x := sites(t, 1)[0]
	x.r.stored.limit = 1
	in, out := x.file(), x.file()
	in.Nodes = append(in.Nodes, catalog.Bucket)
	x.commit(in)
	x.commit(out)
	change := func(c ...catalog.Change) {
		t.Helper()
		next, _, err := x.c.newest.Commit(x.c.newest.Version()+1, c)
		if err != nil {
			t.Fatal(err)
		}
		x.c.newest, x.c.current = next, next
	}
	change(&catalog.PutSetting{Name: catalog.SettingStorage, Value: "s3://b/p"}, &catalog.PutArchive{Archive: catalog.Archive{TakenOver: 2}})
	x.r.stored.trim()
	if !x.r.o.Store.Has(in.ID) {
		t.Error("a file is dropped that another cluster may remove")
	}
	change(&catalog.PutArchive{After: *catalog.Archived(x.c.current)})
	x.r.stored.trim()
	if x.r.o.Store.Has(in.ID) || !x.r.o.Store.Has(out.ID) {
		t.Error("a file that is in the storage is kept, or another is dropped")
	}
	// It is still over its limit: files are not listed again at once for each that comes.
	more := x.file()
	more.Nodes = append(more.Nodes, catalog.Bucket)
	x.commit(more)
	x.c.current = x.c.newest
	if x.r.stored.trim(); !x.r.o.Store.Has(more.ID) {
		t.Error("files are looked at again although not enough could go")
	}
	x.r.stored.pause = 0
	if x.r.stored.trim(); x.r.o.Store.Has(more.ID) {
		t.Error("a file that may go is kept")
	}
}
