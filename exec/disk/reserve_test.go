package disk

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestReserve fills a disk and empties it: writes are refused before the reserved space is needed,
// and accepted when enough is free.
func TestReserve(t *testing.T) {
	const size = 1 << 20
	other := int64(0) // bytes written by other programs
	path := filepath.Join(t.TempDir(), "reserve")
	r := &Reserve{path: path, size: size, log: slog.New(slog.DiscardHandler)}
	r.free = func() (int64, error) {
		free := 10*size - other
		if st, err := os.Stat(path); err == nil {
			free -= st.Size()
		}
		return free, nil
	}
	at := func(used int64, room, held bool) {
		t.Helper()
		other = used
		r.Check()
		if err := r.Room(); (err == nil) != room || err != nil && !pgerr.Is(err, pgerr.DiskFull) {
			t.Errorf("%d used: %v", used, err)
		}
		if _, err := os.Stat(path); (err == nil) != held {
			t.Errorf("%d used: the reserve: %v", used, err)
		}
	}
	at(0, true, true)
	at(75*size/10, true, true)
	at(85*size/10, false, true)
	at(75*size/10, false, true) // between the two limits nothing changes, so that writes do not flip on and off
	at(6*size, true, true)
	at(9*size, false, true)
	if !r.Release() || r.Release() {
		t.Error("the reserve must be released once")
	}
	at(9*size, false, false)
	at(85*size/10, false, false)
	at(6*size, true, true)
	if (*Reserve)(nil).Room() != nil {
		t.Error("no reserve has no room")
	}
}
