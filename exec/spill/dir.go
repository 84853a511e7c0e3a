package spill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// prefix is that of the names of all spill directories, by which Sweep recognises them.
const prefix = "tributary-spill-"

// Budget bounds the temporary bytes of a node. The zero value and nil have no
// limit. It may be used from any goroutine.
type Budget struct {
	Limit int64 // 0: none
	used  atomic.Int64
}

// Used returns the bytes on disk now.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

func (b *Budget) take(n int64) error {
	if b == nil {
		return nil
	}
	if u := b.used.Add(n); b.Limit > 0 && u > b.Limit {
		b.used.Add(-n)
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "temporary file size exceeds the node's limit (%dkB)", b.Limit/1024)
	}
	return nil
}

func (b *Budget) release(n int64) {
	if b != nil {
		b.used.Add(-n)
	}
}

// Options configure a Dir.
type Options struct {
	Parent   string    // directory to make the Dir in; "" is the system's
	Pool     *mem.Pool // counts spilled bytes; may be nil
	Budget   *Budget   // may be nil
	Compress bool      // zstd at its fastest: for slow disks
}

// Dir is the temporary directory of one statement. It is made on the first
// write. Its methods may be called from any goroutine.
type Dir struct {
	opts Options
	mu   sync.Mutex
	path string
	next int
	shut bool
	live map[*Run]struct{}
	encs sync.Pool
}

// NewDir makes a Dir; nothing is on disk yet.
func NewDir(o Options) *Dir {
	d := &Dir{opts: o, live: map[*Run]struct{}{}}
	d.encs.New = func() any { return &codec{} }
	return d
}

// file makes a new file in the directory.
func (d *Dir) file() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil, pgerr.Internal("a spill directory is used after its statement")
	}
	if d.path == "" {
		p, err := os.MkdirTemp(d.opts.Parent, prefix)
		if err != nil {
			return nil, ioError(err, "create temporary directory")
		}
		d.path = p
	}
	d.next++
	f, err := os.OpenFile(filepath.Join(d.path, itoa(d.next)), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, ioError(err, "create temporary file")
	}
	return f, nil
}

func itoa(n int) string {
	var b [20]byte
	i := len(b)
	for ; n > 0 || i == len(b); n /= 10 {
		i--
		b[i] = byte('0' + n%10)
	}
	return string(b[i:])
}

// Create starts a run of batches whose columns are represented as dts.
func (d *Dir) Create(dts []arrow.DataType) (*Writer, error) {
	f, err := d.file()
	if err != nil {
		return nil, err
	}
	return &Writer{run: &Run{dir: d, path: f.Name(), dts: dts}, f: f}, nil
}

// Close removes the directory and all runs in it. Readers still open read on
// where the system allows. It may be called twice.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	for r := range d.live {
		d.opts.Budget.release(r.disk)
	}
	d.live = map[*Run]struct{}{}
	if d.path == "" {
		return nil
	}
	p := d.path
	d.path = ""
	return os.RemoveAll(p)
}

// Path returns the path of the directory; "" before the first file.
func (d *Dir) Path() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.path
}

// Sweep removes directories that an earlier process left in parent. Call it
// before any Dir is made there.
func Sweep(parent string) error {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(parent, e.Name())))
		}
	}
	return err
}

func ioError(err error, doing string) error { return disk.Error(err, "could not "+doing) }

// codec has the buffers for writing one frame.
type codec struct {
	enc batch.Encoder
	buf []byte
	zip []byte
}
