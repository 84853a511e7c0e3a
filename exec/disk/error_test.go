package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestError(t *testing.T) {
	if disk.Error(nil, "do it") != nil {
		t.Error("an error of nothing")
	}
	for _, c := range []struct {
		err  error
		code pgerr.Code
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, pgerr.DiskFull},
		{fmt.Errorf("over: %w", syscall.EDQUOT), pgerr.DiskFull},
		{pgerr.New(pgerr.DiskFull, "there is no room"), pgerr.DiskFull},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, pgerr.UndefinedFile},
		{syscall.EIO, pgerr.IOError},
		{errors.New("what?"), pgerr.IOError},
	} {
		err := disk.Error(c.err, "could not do it")
		if pgerr.CodeOf(err) != c.code || !errors.Is(err, c.err) {
			t.Error(c.err, err)
		}
	}
}

// TestDirect: reading past the page cache returns the bytes of the file, whatever its length.
func TestDirect(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 1 << 20, 1<<20 + 5} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i * i)
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := disk.OS.OpenDirect(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for buf := make([]byte, 10000); ; {
			k, err := f.Read(buf)
			got = append(got, buf[:k]...)
			if err != nil {
				break
			}
		}
		if string(got) != string(want) {
			t.Errorf("%d bytes: %d come", n, len(got))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
