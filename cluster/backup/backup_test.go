package backup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/internal/errfs"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// cluster is a source of files that a state names.
type cluster struct {
	state *catalog.State
	bytes map[catalog.SegmentID][]byte
}

// newCluster makes a table of n files.
func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	c := &cluster{state: catalog.New(), bytes: map[catalog.SegmentID][]byte{}}
	c.commit(t, &catalog.PutRelation{Rel: &catalog.Relation{OID: 20000, Schema: catalog.PublicOID, Name: "t", Kind: catalog.KindTable, Partitions: 1}})
	c.add(t, 0, n)
	return c
}

func (c *cluster) commit(t *testing.T, changes ...catalog.Change) {
	t.Helper()
	next, _, err := c.state.Commit(c.state.Version()+1, changes)
	if err != nil {
		t.Fatal(err)
	}
	c.state = next
}

func (c *cluster) add(t *testing.T, from, to int) {
	t.Helper()
	var segs []*catalog.Segment
	for i := from; i < to; i++ {
		b := bytes.Repeat([]byte(fmt.Sprint(i, " ")), 1000+i)
		c.bytes[segment(i, b).ID] = b
		segs = append(segs, segment(i, b))
	}
	c.commit(t, &catalog.AppendSegments{Table: 20000, Segments: segs})
}

// segment describes file i.
func segment(i int, b []byte) *catalog.Segment {
	return &catalog.Segment{ID: catalog.SegmentID{byte(i), 1, byte(i >> 8)}, Rows: 1, Bytes: int64(len(b)), XXH128: xxh3.Hash128(b).Bytes(), Nodes: []uint64{7, 8}}
}

func (c *cluster) source(_ context.Context, f *catalog.Segment, take Take) error {
	return take(func(to func([]byte) error) error {
		for _, block := range slices.Collect(slices.Chunk(c.bytes[f.ID], 700)) {
			if err := to(block); err != nil {
				return err
			}
		}
		return nil
	})
}

// write makes a backup of the state there is.
func (c *cluster) write(files disk.FS) (string, Progress, error) {
	d, err := Create(files, "/b")
	if err != nil {
		return "", Progress{}, err
	}
	h := Head{Version: c.state.Version(), At: time.UnixMilli(1e12 + 10*int64(c.state.Version()))}
	return d.Write(context.Background(), h, c.state, Options{Source: c.source})
}

// check reads a backup in full.
func (c *cluster) check(t *testing.T, files disk.FS, name string, state *catalog.State) {
	t.Helper()
	d, err := Open(files, "/b")
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	was, _ := state.MarshalBinary()
	is, _ := got.MarshalBinary()
	if !bytes.Equal(was, is) {
		t.Error("the state is another")
	}
	for f := range catalog.FilesOf(got) {
		var all []byte
		if err := d.Give(context.Background(), name, f, func(b []byte) error { all = append(all, b...); return nil }); err != nil || !bytes.Equal(all, c.bytes[f.ID]) {
			t.Errorf("file %s: %d bytes, %v", f.ID, len(all), err)
		}
	}
	if v, err := d.Verify(context.Background()); err != nil || len(v.Damage) > 0 {
		t.Error(v, err)
	}
}

func TestIncremental(t *testing.T) {
	files, c := errfs.New(), newCluster(t, 300)
	first, p, err := c.write(files)
	if err != nil {
		t.Fatal(err)
	}
	if p.Files != 300 || p.Written != p.Bytes || p.Bytes != p.OfBytes {
		t.Errorf("the first: %+v", p)
	}
	was := c.state
	if _, p, err = c.write(files); err != nil || p.Written != 0 {
		t.Errorf("of the same state: %+v, %v", p, err)
	}
	c.add(t, 300, 303)
	last, p, err := c.write(files)
	if err != nil || p.Written == 0 || p.Written*50 > p.Bytes {
		t.Errorf("of 1 %% more: %+v, %v", p, err)
	}
	c.check(t, files, first, was)
	c.check(t, files, last, c.state)

	// Files that only removed backups name are removed with them.
	c.commit(t, &catalog.Truncate{Table: 20000})
	c.add(t, 400, 402)
	d, _ := Open(files, "/b")
	if _, _, err := c.write(files); err != nil {
		t.Fatal(err)
	}
	keepFiles(t, d, 2, 305)
	keepFiles(t, d, 1, 2)
	if names, _ := d.Names(); len(names) != 1 {
		t.Error(names)
	}
}

func keepFiles(t *testing.T, d *Dir, keep, want int) {
	t.Helper()
	if err := d.Keep(keep, catalog.ClusterID{}, "", d.Read, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range 256 {
		there, _ := d.fs.Names(d.join("files", fmt.Sprintf("%02x", i)))
		n += len(there)
	}
	if n != want {
		t.Errorf("keep %d leaves %d files, not %d", keep, n, want)
	}
}

// TestKeepOfTwoClusters: a restored cluster that goes on in the directory of the first one removes its own backups alone.
func TestKeepOfTwoClusters(t *testing.T) {
	c := newCluster(t, 2)
	d, err := Create(disk.OS, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, of := range []byte{1, 2, 2, 1} {
		name, _, err := d.Write(t.Context(), Head{Cluster: catalog.ClusterID{of}, Version: 3, At: time.UnixMilli(1e12 + int64(i))}, c.state, Options{Source: c.source})
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := d.Keep(1, catalog.ClusterID{2}, "", d.Read, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := d.Names(); err != nil || !slices.Equal(left, []string{names[0], names[2], names[3]}) {
		t.Error(left, err)
	}
}

// lapsed is a lock that another may have by now.
type lapsed struct{}

func (lapsed) Held() error    { return pgerr.New(pgerr.ObjectInUse, "lapsed") }
func (lapsed) Release() error { return lapsed{}.Held() }

// TestLapsedLock: who may have lost the directory to another writes no backup, removes nothing, and takes no storage.
func TestLapsedLock(t *testing.T) {
	files, c := errfs.New(), newCluster(t, 2)
	for range 2 {
		if _, _, err := c.write(files); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(files, "/b")
	if err != nil {
		t.Fatal(err)
	}
	d.lock = lapsed{}
	c.add(t, 2, 3)
	for what, try := range map[string]func() error{
		"a backup": func() error {
			_, _, err := d.Write(t.Context(), Head{Version: c.state.Version(), At: time.Now()}, c.state, Options{Source: c.source})
			return err
		},
		"old backups": func() error { return d.Keep(1, catalog.ClusterID{}, "", d.Read, nil) },
		"a storage":   func() error { return Own(d, catalog.ClusterID{1}, 2) },
	} {
		if err := try(); !pgerr.Is(err, pgerr.ObjectInUse) {
			t.Errorf("%s: %v", what, err)
		}
	}
	d.lock = nil
	if names, err := d.Names(); err != nil || len(names) != 2 || d.mark() != nil || !d.owner.IsZero() {
		t.Errorf("%v of %s: %v", names, d.owner, err)
	}
}

// TestCrash: whatever a power cut or an error of the disk leaves of a backup and of the removal of an old one, no
// backup that is there is damaged, and the next one succeeds.
func TestCrash(t *testing.T) {
	c := newCluster(t, 3)
	before := c.state
	c.add(t, 3, 5)
	for n := 1; ; n++ {
		for _, full := range []bool{false, true} {
			files := errfs.New()
			now := c.state
			c.state = before
			first, _, err := c.write(files)
			c.state = now
			if err != nil {
				t.Fatal(err)
			}
			had := files.Steps()
			if full {
				files.FailAt(had+n, syscall.ENOSPC, false)
			} else {
				files.CrashAt(had + n)
			}
			_, _, err = c.write(files)
			if err == nil {
				d, _ := Open(files, "/b")
				err = d.Keep(1, catalog.ClusterID{}, "", d.Read, nil)
			}
			if full && err != nil && !pgerr.Is(err, pgerr.DiskFull) {
				t.Errorf("step %d: %v", n, err)
			}
			if full && err != nil { // the next one takes what this one left, and then the power fails
				if _, _, err := c.write(files); err != nil {
					t.Fatalf("step %d: the next backup: %v", n, err)
				}
			}
			steps, rebooted := files.Steps(), files.Reboot(rand.New(rand.NewPCG(uint64(n), 1)))
			d, err := Open(rebooted, "/b")
			if err != nil {
				t.Fatalf("step %d: %v", n, err)
			}
			names, _ := d.Names()
			if len(names) == 0 {
				t.Fatalf("step %d: no backup is left", n)
			}
			for _, name := range names {
				state := c.state
				if name == first {
					state = before
				}
				c.check(t, rebooted, name, state)
			}
			again, _, err := c.write(rebooted)
			if err != nil {
				t.Fatalf("step %d: the next backup: %v", n, err)
			}
			c.check(t, rebooted, again, c.state)
			if full && steps < had+n {
				return
			}
		}
	}
}

// TestUntrusted: no bytes of a backup make it panic or take more memory than they are, and damage anywhere is found.
func TestUntrusted(t *testing.T) {
	c := newCluster(t, 2)
	state, _ := c.state.MarshalBinary()
	good := bytes.Join(encode(magic, codec.Marshal(Head{Version: 3, Objects: "table public.t"}), state), nil)
	if b, err := decodeBackup("x", good); err != nil || b.Version != 3 || !bytes.Equal(b.State, state) {
		t.Fatal(b, err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if _, err := decodeBackup("x", bad); err == nil {
			t.Fatalf("byte %d of %d may be another", i, len(good))
		}
		if _, err := decodeBackup("x", good[:i]); err == nil {
			t.Fatalf("%d bytes of %d are taken for all", i, len(good))
		}
	}
	later := slices.Clone(good)
	binary.LittleEndian.PutUint32(later[len(magic):], Format+1)
	if _, err := decodeBackup("x", later); !pgerr.Is(err, pgerr.FeatureNotSupported) || !strings.Contains(err.Error(), "format 2") {
		t.Error("of a later format:", err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 { // with a checksum that is right
		bad := slices.Clone(state)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		b, err := decodeBackup("x", bytes.Join(encode(magic, codec.Marshal(Head{}), bad), nil))
		if err != nil {
			t.Fatal(err)
		}
		if s, err := b.Catalog(); err == nil {
			catalog.Refound(s, catalog.ClusterID{1}, 1)
		} else if pgerr.CodeOf(err) == pgerr.InternalError {
			t.Fatal(err)
		}
	}
	files := errfs.New()
	if _, _, err := c.write(files); err != nil {
		t.Fatal(err)
	}
	d, _ := Open(files, "/b")
	for _, name := range []string{"../x", "20261128T214249.123Z-1/../../x", ""} {
		if _, err := d.Read(name); !pgerr.Is(err, pgerr.UndefinedObject) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestSource: a copy that is damaged is not kept, and another is taken.
func TestSource(t *testing.T) {
	c, files := newCluster(t, 1), errfs.New()
	d, err := Create(files, "/b")
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	o := Options{Source: func(ctx context.Context, f *catalog.Segment, take Take) error {
		for {
			tries++
			err := take(func(to func([]byte) error) error {
				b := slices.Clone(c.bytes[f.ID])
				switch tries {
				case 1:
					b[5]++
				case 2:
					b = append(b, 1)
				case 3:
					b = b[1:]
				}
				return to(b)
			})
			if err == nil || tries > 5 {
				return err
			}
		}
	}}
	name, _, err := d.Write(context.Background(), Head{}, c.state, o)
	if err != nil || tries != 4 {
		t.Fatal(tries, err)
	}
	c.check(t, files, name, c.state)
	o.Source = func(context.Context, *catalog.Segment, Take) error { return errors.New("gone") }
	c.add(t, 1, 9)
	if name, _, err := d.Write(context.Background(), Head{}, c.state, o); err == nil {
		t.Errorf("backup %s has files that nobody gave", name)
	}
	if names, _ := d.Names(); len(names) != 1 {
		t.Error(names)
	}
}

func TestPath(t *testing.T) {
	for uri, want := range map[string]string{"/a/b": "/a/b", "file:///a/b/": "/a/b", "a": "", "file://a": "", "gs://b/c": "", "s3://bkt": "", "s3:///c": "", "s3://bkt/c/": "s3://bkt/c", "": ""} {
		if got, err := Path(uri); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", uri, got, err)
		}
	}
	if _, err := Path("gs://b/c"); !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Error(err)
	}
}
