package disk

import (
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// directBlock is what place, size and memory of a direct read are multiples of.
const directBlock = 4096

// openDirect reads around the page cache: that is what finds damage on the
// device below a file that is in memory, also where it is mapped. File systems
// without it (tmpfs) are read as usual.
func openDirect(path string) (io.ReadCloser, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return os.Open(path)
	}
	return &direct{f: f}, nil
}

// direct reads in blocks into aligned memory.
type direct struct {
	f    *os.File
	buf  []byte
	left []byte
	off  int64
	err  error
}

func (d *direct) Read(p []byte) (int, error) {
	if len(d.left) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		if d.buf == nil {
			raw := make([]byte, 1<<20+directBlock)
			skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (directBlock - 1)
			d.buf = raw[skip : skip+1<<20]
		}
		n, err := d.f.ReadAt(d.buf, d.off)
		d.off += int64(n)
		d.left, d.err = d.buf[:n], err
		if n == 0 {
			return 0, d.err
		}
	}
	n := copy(p, d.left)
	d.left = d.left[n:]
	return n, nil
}

func (d *direct) Close() error { return d.f.Close() }

func fallocate(f *os.File, off, n int64) error { return unix.Fallocate(int(f.Fd()), 0, off, n) }
