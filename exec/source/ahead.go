package source

import (
	"context"

	"github.com/tributarydb/tributary/exec/object"
)

// Files in buckets answer late, so what will be read is asked for before: the footers of the next files while one is
// planned, the columns of a row group when it is opened, and with them those of the next one.

// filesAhead is of how many files the ends are asked for at once, and tail is how much of them: most footers.
const (
	filesAhead = 16
	tail       = 64 << 10
	// wholeAhead is the size of files that are asked for whole when the one before is read.
	wholeAhead = 8 << 20
)

// ahead opens the next files of a list while one is read; close ends it.
type ahead struct {
	ctx   context.Context
	files []file
	next  int
	open  []object.File // of files before next, the newest last
}

// to has parts of the files up to the n-th behind the i-th asked for.
func (a *ahead) to(i, n int, part func(file) object.Range) {
	for a.next = max(a.next, i+1); a.next <= i+n && a.next < len(a.files); a.next++ {
		f := a.files[a.next]
		if !object.Remote(f.path) {
			continue
		}
		if in, err := f.open(a.ctx); err == nil {
			in.Prefetch(part(f))
			a.open = append(a.open, in)
		}
	}
	for len(a.open) > n {
		_ = a.open[0].Close()
		a.open = a.open[1:]
	}
}

func (a *ahead) close() {
	for _, in := range a.open {
		_ = in.Close()
	}
	a.open = nil
}

func tailOf(f file) object.Range { return object.Range{From: max(0, f.size-tail), To: f.size} }
