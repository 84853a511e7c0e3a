package disk

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Reserve is room on a disk that is kept for what must still be written when the
// disk is full: a file that takes the room, and is given up for it. As long as
// little more than that is left, Room refuses what would fill the disk.
type Reserve struct {
	path string
	size int64
	free func() (int64, error) // bytes of the disk that are free
	log  *slog.Logger

	mu   sync.Mutex
	held bool // the file is there
	full bool
}

// The reserve is a share of the disk, within bounds.
const (
	reserveShare = 256
	minReserve   = 1 << 20
	maxReserve   = 32 << 20
)

// NewReserve takes room in a directory. Where there is none it tries again with
// each Check.
func NewReserve(dir string, log *slog.Logger) (*Reserve, error) {
	total, err := Total(dir)
	if err != nil {
		return nil, Error(err, "could not look at directory "+dir)
	}
	r := &Reserve{path: filepath.Join(dir, "reserve"), size: min(max(total/reserveShare, minReserve), maxReserve), log: log,
		free: func() (int64, error) { return Free(dir) }}
	if st, err := os.Stat(r.path); err == nil && st.Size() >= r.size {
		r.held = true
	}
	r.Check()
	return r, nil
}

// Release deletes the file, which frees its space; it reports whether there was one.
func (r *Reserve) Release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enter(true)
	if !r.held {
		return false
	}
	r.held = false
	err := os.Remove(r.path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

func (r *Reserve) enter(full bool) {
	if full != r.full {
		r.full = full
		if full {
			r.log.Error("the disk is full: writes are refused until there is room", "directory", filepath.Dir(r.path))
		} else {
			r.log.Warn("the disk has room again: writes go on", "directory", filepath.Dir(r.path))
		}
	}
}

// Check looks at the disk, and takes the room back where there is enough of it.
func (r *Reserve) Check() {
	r.mu.Lock()
	defer r.mu.Unlock()
	free, err := r.free()
	if err != nil {
		return
	}
	if !r.held && free >= 2*r.size {
		if r.held = allocate(r.path, r.size) == nil; r.held {
			free -= r.size
		} else {
			_ = os.Remove(r.path)
		}
	}
	switch {
	case !r.held || free < r.size:
		r.enter(true)
	case free >= 2*r.size || !r.full:
		r.enter(false)
	}
}

// Watch calls Check until stop is closed.
func (r *Reserve) Watch(stop <-chan struct{}) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			r.Check()
		}
	}
}

// Room returns the error of a write that would need room, nil where there is some.
func (r *Reserve) Room() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full {
		return nil
	}
	return pgerr.New(pgerr.DiskFull, "could not write: the disk of the data directory is full").
		WithHint("Make room: writes go on by themselves.")
}
