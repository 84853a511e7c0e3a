package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestRandom: of a mapping that is read here and there the system reads the page that is touched and not what lies around it, and
// what is asked for by Prefetch.
func TestRandom(t *testing.T) {
	const size, part = 16 << 20, 1 << 20
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	m, err := OS.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	page := os.Getpagesize()
	there := func(b []byte) (n int) { // pages of b in memory
		t.Helper()
		pages := make([]byte, (len(b)+page-1)/page)
		if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&pages[0]))); e != 0 {
			t.Skip("the system does not say what is in memory: ", e)
		}
		for _, p := range pages {
			n += int(p & 1)
		}
		return n
	}
	if there(m.Data) > 0 {
		t.Skip("the file system keeps its files in memory")
	}
	m.Random()
	if m.Data[size/2] != 0 {
		t.Error("not what was written")
	}
	if n := there(m.Data); n < 1 || n > 4 {
		t.Errorf("%d pages were read for one", n)
	}
	m.Prefetch(part+1, part)
	for end := time.Now().Add(time.Minute); there(m.Data[part:2*part]) < part/page; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d pages of the part were read, of %d", there(m.Data[part:2*part]), part/page)
		}
	}
	if n := there(m.Data); n > part/page+8 {
		t.Errorf("%d pages were read for the part, of %d", n, part/page)
	}
}
