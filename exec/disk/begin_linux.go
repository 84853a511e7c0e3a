package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Begin has the system start to put n bytes of a file from off on, which were written, on the
// disk, and does not wait: a Sync later waits for the rest alone. Nothing is promised; files
// of other systems take no notice.
func Begin(f File, off, n int64) {
	if f, ok := f.(*os.File); ok && n > 0 {
		_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
	}
}
