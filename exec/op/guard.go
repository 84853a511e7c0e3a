package op

import (
	"log/slog"
	"runtime/debug"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Guard runs f at the top of a goroutine: a panic becomes XX000 and is logged
// with its stack, a fault under a mapped file becomes the file's error.
func Guard(where string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if err = batch.Fault(r); err != nil {
				return
			}
			slog.Error("BUG: panic in an operator", "where", where, "panic", r, "stack", string(debug.Stack()))
			err = pgerr.Internal("internal error in %s: %v", where, r)
		}
	}()
	return f()
}
