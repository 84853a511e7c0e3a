package object_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/exec/object/s3test"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// environment lets the node's credentials be those of a server.
func environment(t *testing.T, s *s3test.Server, id, secret string) {
	t.Setenv("AWS_ACCESS_KEY_ID", id)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
}

func stores(t *testing.T, s *s3test.Server, cache *object.Cache) object.Store {
	environment(t, s, s3test.KeyID, s3test.Secret)
	st, err := object.NewStores(nil, object.Keys{}, cache).For(0, "s3://bkt/", true)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func openCache(t *testing.T, dir string, limit int64) *object.Cache {
	c, err := object.OpenCache(dir, limit, mem.NewPool("test", 0).Account("blocks", false))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bytesOf(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func open(t *testing.T, st object.Store, uri string) object.File {
	t.Helper()
	info, err := st.Stat(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	f, err := st.Open(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Ranges are the object's bytes, whatever becomes of single requests, with a cache and without.
func TestReadsThroughFaults(t *testing.T) {
	object.Patience(t, 300*time.Millisecond)
	data := bytesOf(5<<20 + 321)
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprint("cache ", cached), func(t *testing.T) {
			s := s3test.New(t, "bkt")
			s.Put("bkt", "dir/x y+ä", data)
			var c *object.Cache
			if cached {
				c = openCache(t, t.TempDir(), 64<<20)
			}
			st := stores(t, s, c)
			n := 0
			s.Fault = func(r *http.Request) s3test.Fault {
				n++
				return []s3test.Fault{s3test.None, s3test.Torn, s3test.Busy, s3test.None, s3test.Reset, s3test.Silent, s3test.None}[n%7]
			}
			f := open(t, st, "s3://bkt/dir/x y+ä")
			f.Prefetch(object.Range{From: 0, To: 3 << 20})
			rnd := mrand.New(mrand.NewPCG(1, 2))
			for range 20 {
				off := rnd.IntN(len(data))
				p := make([]byte, rnd.IntN(2<<20))
				k, err := f.ReadAt(p, int64(off))
				want := data[off:min(len(data), off+len(p))]
				if k != len(want) || !bytes.Equal(p[:k], want) || (err != nil) != (k < len(p)) || err != nil && err != io.EOF {
					t.Fatalf("ReadAt(%d bytes, %d) = %d, %v", len(p), off, k, err)
				}
			}
			all, err := io.ReadAll(f)
			if err != nil || !bytes.Equal(all, data) {
				t.Fatalf("read %d bytes, %v", len(all), err)
			}
		})
	}
}

// An object that changes while it is read is an error, never a mixture of two.
func TestChangedWhileRead(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Put("bkt", "k", bytesOf(4<<20))
	st := stores(t, s, openCache(t, t.TempDir(), 64<<20))
	f := open(t, st, "s3://bkt/k")
	p := make([]byte, 100)
	if _, err := f.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	s.Put("bkt", "k", bytesOf(4<<20))
	if _, err := f.ReadAt(p, 0); err != nil { // the block that it has
		t.Fatal(err)
	}
	if _, err := f.ReadAt(p, 2<<20); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Fatalf("a changed object: %v", err)
	}
}

// A cancelled statement does not wait for a store that is slow or away.
func TestCancelled(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Put("bkt", "k", bytesOf(2<<20))
	st := stores(t, s, nil)
	info, err := st.Stat(t.Context(), "s3://bkt/k")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []s3test.Fault{s3test.Busy, s3test.Silent} {
		asked := make(chan struct{}, 100)
		s.Fault = func(*http.Request) s3test.Fault { asked <- struct{}{}; return fault }
		why := errors.New("asked to")
		ctx, cancel := context.WithCancelCause(t.Context())
		f, err := st.Open(ctx, info)
		if err != nil {
			t.Fatal(err)
		}
		go func() { <-asked; cancel(why) }()
		if _, err := f.ReadAt(make([]byte, 1<<20), 0); !errors.Is(err, why) {
			t.Errorf("fault %d: %v", fault, err)
		}
		_ = f.Close()
	}
}

// Keys and absent objects are told apart, and no error has the secret.
func TestErrors(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Put("bkt", "k", []byte("x"))
	for _, c := range []struct {
		id, secret, uri string
		want            pgerr.Code
	}{
		{"AKIAOTHER", "topsecret", "s3://bkt/k", pgerr.InvalidAuthorizationSpecification},
		{s3test.KeyID, "topsecret", "s3://bkt/k", pgerr.InvalidAuthorizationSpecification},
		{s3test.KeyID, "topsecret", "s3://bkt/*", pgerr.InvalidAuthorizationSpecification},
		{s3test.KeyID, s3test.Secret, "s3://bkt/none", pgerr.UndefinedFile},
		{s3test.KeyID, s3test.Secret, "s3://none-there/k", pgerr.UndefinedFile},
		{s3test.KeyID, s3test.Secret, "s3://bkt/a/../k", pgerr.InvalidParameterValue},
		{s3test.KeyID, s3test.Secret, "s3:///k", pgerr.InvalidParameterValue},
		{s3test.KeyID, s3test.Secret, "gs://b/k", pgerr.FeatureNotSupported},
		{s3test.KeyID, s3test.Secret, "s3://bkt/[", pgerr.InvalidParameterValue},
	} {
		environment(t, s, c.id, c.secret)
		st, err := object.NewStores(nil, object.Keys{}, nil).For(0, c.uri, false)
		if err == nil {
			for _, err = range object.Find(t.Context(), st, c.uri) {
			}
		}
		if pgerr.CodeOf(err) != c.want || strings.Contains(fmt.Sprintf("%+v", err), "topsecret") {
			t.Errorf("%s: %v, want %s", c.uri, err, c.want)
		}
	}
	environment(t, s, s3test.KeyID, s3test.Secret)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	st, err := object.NewStores(nil, object.Keys{}, nil).For(0, "s3://bkt/k", false)
	if err == nil {
		_, err = st.Stat(t.Context(), "s3://bkt/k")
	}
	if !pgerr.Is(err, pgerr.IOError) || pgerr.From(err).Hint != "The endpoint is 127.0.0.1:1." {
		t.Errorf("no server: %v", err)
	}
}

// A hundred thousand keys are listed by pages, through lost and broken ones, in a memory that does not grow with them.
func TestListsManyKeys(t *testing.T) {
	s := s3test.New(t, "bkt")
	const n = 100_000
	for i := range n {
		s.Put("bkt", fmt.Sprintf("year=%d/part %06d.csv", 2000+i%3, i), nil)
	}
	st := stores(t, s, nil)
	k := 0
	s.Fault = func(*http.Request) s3test.Fault {
		k++
		return map[int]s3test.Fault{7: s3test.Torn, 20: s3test.Busy, 33: s3test.Reset, 34: s3test.Torn}[k]
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	got, last := 0, ""
	for f, err := range st.List(t.Context(), "s3://bkt/year=*/part *.csv") {
		if err != nil {
			t.Fatal(err)
		}
		if f.Name <= last {
			t.Fatalf("%q after %q", f.Name, last)
		}
		last = strings.Clone(f.Name)
		if got++; got%25_000 == 0 {
			most = max(most, heap())
		}
	}
	if got != n {
		t.Fatalf("listed %d of %d", got, n)
	}
	if most > before+16<<20 {
		t.Errorf("listing held %d MiB", (most-before)>>20)
	}
	got = 0
	for _, err := range st.List(t.Context(), "s3://bkt/year=2001/*") {
		if err != nil {
			t.Fatal(err)
		}
		got++
	}
	if got != n/3 {
		t.Errorf("one year has %d", got)
	}
}

// What is written is there in full, or not at all, and nothing is left of it.
func TestWrites(t *testing.T) {
	s := s3test.New(t, "bkt")
	st := stores(t, s, nil)
	held, most := int64(0), int64(0)
	charge := func(n int64) error {
		held += n
		most = max(most, held)
		return nil
	}
	data := bytesOf(30 << 20)
	for _, size := range []int{0, 100, 8 << 20, 8<<20 + 1, len(data)} {
		n := 0
		s.Fault = func(r *http.Request) s3test.Fault {
			n++
			return []s3test.Fault{s3test.None, s3test.Busy, s3test.None, s3test.Lost, s3test.None}[n%5]
		}
		w, err := st.Create(t.Context(), "s3://bkt/out", charge)
		if err != nil {
			t.Fatal(err)
		}
		for part := data[:size]; len(part) > 0; {
			k, err := w.Write(part[:min(len(part), 1<<20)])
			if err != nil {
				t.Fatal(err)
			}
			part = part[k:]
		}
		if err := w.Commit(); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if o := s.Get("bkt", "out"); o == nil || !bytes.Equal(o.Data, data[:size]) || s.Uploads() != 0 {
			t.Fatalf("%d bytes were not written", size)
		}
	}
	if held != 0 || most > 24<<20 {
		t.Errorf("%d bytes are held, %d were", held, most)
	}
	s.Fault = nil
	ctx, cancel := context.WithCancel(t.Context())
	w, err := st.Create(ctx, "s3://bkt/aborted", charge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil || s.Uploads() != 1 {
		t.Fatal(err, s.Uploads())
	}
	cancel() // what aborts must work all the same
	w.Abort()
	if s.Get("bkt", "aborted") != nil || s.Uploads() != 0 || held != 0 {
		t.Errorf("after Abort: %d uploads, %d bytes held", s.Uploads(), held)
	}
	if err := w.Commit(); err == nil {
		t.Error("Commit after Abort")
	}
}

// The cache survives its process, removes what was used longest ago, and what is damaged.
func TestCache(t *testing.T) {
	s := s3test.New(t, "bkt")
	data := bytesOf(8 << 20)
	s.Put("bkt", "k", data)
	s.Put("bkt", "other", bytesOf(30<<20))
	dir := t.TempDir()
	read := func(c *object.Cache, key string) (gets int) {
		t.Helper()
		f := open(t, stores(t, s, c), "s3://bkt/"+key)
		before := s.Count(http.MethodGet)
		b, err := io.ReadAll(f)
		if err != nil || key == "k" && !bytes.Equal(b, data) {
			t.Fatalf("read %d bytes: %v", len(b), err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return s.Count(http.MethodGet) - before
	}
	c := openCache(t, dir, 20<<20)
	if n := read(c, "k"); n != 8 {
		t.Errorf("%d requests at first", n)
	}
	if n := read(c, "k"); n != 0 {
		t.Errorf("%d requests for what is there", n)
	}
	// A kill leaves files that are not complete.
	if err := os.WriteFile(filepath.Join(dir, "half.new"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = openCache(t, dir, 20<<20)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 8 {
		t.Errorf("%d files after a start", len(files))
	}
	if n := read(c, "k"); n != 0 {
		t.Errorf("%d requests after a start", n)
	}
	for i, p := range files[:3] {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0:
			b[1000] ^= 1
		case 1:
			b = b[:len(b)/2]
		case 2:
			b, _ = os.ReadFile(files[4]) // another block's
		}
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := read(c, "k"); n != 3 {
		t.Errorf("%d requests for three damaged blocks", n)
	}
	read(c, "other")
	used, limit := object.Usage(c)
	size := int64(0)
	files, _ = filepath.Glob(filepath.Join(dir, "*"))
	for _, p := range files {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	if used > limit || size != used {
		t.Errorf("the cache has %d bytes, counts %d of %d", size, used, limit)
	}
}

// Statements that want the same blocks at once ask for each once.
func TestCacheIsShared(t *testing.T) {
	s := s3test.New(t, "bkt")
	data := bytesOf(6 << 20)
	s.Put("bkt", "k", data)
	st := stores(t, s, openCache(t, t.TempDir(), 64<<20))
	info, err := st.Stat(t.Context(), "s3://bkt/k")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			f, err := st.Open(t.Context(), info)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			f.Prefetch(object.Range{To: info.Size})
			if b, err := io.ReadAll(f); err != nil || !bytes.Equal(b, data) {
				t.Error(len(b), err)
			}
		})
	}
	all.Wait()
	if n := s.Count(http.MethodGet); n != 6 {
		t.Errorf("%d requests for 6 blocks", n)
	}
}

// A lease is one's alone while it is renewed; of a holder who is dead its end is waited for.
func TestLease(t *testing.T) {
	object.LeaseTime(t, 3*time.Second)
	s := s3test.New(t, "bkt")
	l := stores(t, s, nil).(object.Leaser)
	n, again := 0, make(chan struct{})
	var lost atomic.Bool // answers to renewals, until that is found
	var puts atomic.Int64
	s.Fault = func(r *http.Request) s3test.Fault {
		if n++; n == 1 { // the answer to the first request is lost: the second finds what it wrote
			return s3test.Lost
		}
		if !lost.Load() || r.Method != http.MethodPut {
			return s3test.None
		}
		switch puts.Add(1) {
		case 1, 2, 3, 4, 5, 6: // the tries of one
			return s3test.Lost
		case 9: // after the next, which writes twice
			close(again)
		}
		return s3test.None
	}
	const uri = "s3://bkt/LOCK"
	first, err := l.Lease(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lease(t.Context(), uri); !errors.Is(err, object.ErrLeased) {
		t.Errorf("a second lease: %v", err)
	}
	if err := errors.Join(first.Held(), first.Release()); err != nil || len(s.Keys("bkt")) != 0 {
		t.Errorf("release: %v, %v", err, s.Keys("bkt"))
	}
	for _, left := range []time.Duration{-time.Second, 100 * time.Millisecond, time.Hour} { // the last by a clock that is ahead
		began := time.Now()
		s.Put("bkt", "LOCK", []byte("dead "+began.Add(left).UTC().Format(time.RFC3339Nano)))
		if first, err = l.Lease(t.Context(), uri); err != nil || time.Since(began) < min(left, 3*time.Second) {
			t.Fatalf("a dead one's lease: %v", err)
		}
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Lease(cut, uri); !errors.Is(err, context.Canceled) {
		t.Errorf("a statement that was cancelled: %v", err)
	}
	// A renewal whose answers were all lost is found by the next.
	lost.Store(true)
	<-again
	if err := first.Held(); err != nil {
		t.Error(err)
	}
	// Whoever finds another's in place of its own has lost it, and leaves that alone.
	s.Put("bkt", "LOCK", []byte("another "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)))
	for first.Held() == nil {
		runtime.Gosched()
	}
	if err := first.Release(); !pgerr.Is(err, pgerr.ObjectInUse) || len(s.Keys("bkt")) != 1 {
		t.Errorf("release of one that was lost: %v, %v", err, s.Keys("bkt"))
	}
}

// TestSwap: a text is written only in place of the state that was seen, also where an answer is lost.
func TestSwap(t *testing.T) {
	s := s3test.New(t, "bkt")
	l := stores(t, s, nil).(object.Leaser)
	const uri = "s3://bkt/LEASE"
	if text, tag, err := l.Peek(t.Context(), uri); text != "" || tag != "" || err != nil {
		t.Fatal(text, tag, err)
	}
	fault := s3test.Lost
	s.Fault = func(r *http.Request) s3test.Fault {
		f := fault
		fault = s3test.None
		return f
	}
	first, err := l.Swap(t.Context(), uri, "1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Swap(t.Context(), uri, "other", ""); !errors.Is(err, object.ErrLeased) {
		t.Errorf("in place of none, where there is one: %v", err)
	}
	fault = s3test.Lost
	if _, err := l.Swap(t.Context(), uri, "2", first); err != nil {
		t.Error(err)
	}
	if _, err := l.Swap(t.Context(), uri, "3", first); !errors.Is(err, object.ErrLeased) {
		t.Errorf("in place of an older state: %v", err)
	}
	if text, _, err := l.Peek(t.Context(), uri); text != "2" || err != nil {
		t.Error(text, err)
	}
}
