package patch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Variable names the file of a process in its environment.
const Variable = "NEMESIS_CONTROL"

// edits of the library: in each file text from is replaced by to.
var edits = []struct{ file, from, to string }{
	{"time/time.go", "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {", "\tsec, nsec, mono := runtimeNow()\n\tsec += nemesisShift()\n\tif mono == 0 {"},
	{"syscall/zsyscall_linux_" + runtime.GOARCH + ".go", "func Fsync(fd int) (err error) {\n", "func Fsync(fd int) (err error) {\n\tnemesisWait()\n"},
	{"syscall/zsyscall_linux_" + runtime.GOARCH + ".go", "func Fdatasync(fd int) (err error) {\n", "func Fdatasync(fd int) (err error) {\n\tnemesisWait()\n"},
}

// added are new files of the library.
var added = map[string]string{
	"time/nemesis.go": `package time

import "syscall"

func nemesisShift() int64 { return syscall.NemesisShift() }
`,
	"syscall/nemesis.go": `package syscall

import (
	"sync/atomic"
	"unsafe"
)

// nemesisPage is seconds that the clock is ahead, and nanoseconds that a sync waits.
var nemesisPage = func() *[2]int64 {
	path, ok := Getenv("` + Variable + `")
	if !ok {
		return new([2]int64)
	}
	fd, err := Open(path, O_RDONLY|O_CLOEXEC, 0)
	if err != nil {
		panic("` + Variable + `: " + err.Error())
	}
	b, err := Mmap(fd, 0, 16, PROT_READ, MAP_SHARED)
	if err != nil {
		panic("` + Variable + `: " + err.Error())
	}
	Close(fd)
	return (*[2]int64)(unsafe.Pointer(&b[0]))
}()

func NemesisShift() int64 { return atomic.LoadInt64(&nemesisPage[0]) }

func nemesisWait() {
	if n := atomic.LoadInt64(&nemesisPage[1]); n > 0 {
		left := NsecToTimespec(n)
		for Nanosleep(&left, &left) == EINTR {
		}
	}
}
`,
}

// Overlay writes the patched library to a directory and returns the file for "go build
// -overlay".
func Overlay(dir string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("the library can be patched on Linux only")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	texts := map[string]string{}
	for _, e := range edits {
		if texts[e.file] == "" {
			b, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(e.file)))
			if err != nil {
				return "", err
			}
			texts[e.file] = string(b)
		}
		if n := strings.Count(texts[e.file], e.from); n != 1 {
			return "", fmt.Errorf("%s of this version of Go has %q %d times: the patch does not know it", e.file, e.from, n)
		}
		texts[e.file] = strings.Replace(texts[e.file], e.from, e.to, 1)
	}
	for file, text := range added {
		texts[file] = text
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range texts {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(src, filepath.FromSlash(file))] = to
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// Control is the file of a process. Its methods are for one goroutine.
type Control struct{ f *os.File }

// NewControl creates a control file without a shift or a delay.
func NewControl(path string) (*Control, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(make([]byte, 16))
	return &Control{f}, err
}

// Env returns the environment variable that the process needs.
func (c *Control) Env() string { return Variable + "=" + c.f.Name() }

// Shift moves the clock, to whole seconds.
func (c *Control) Shift(d time.Duration) error { return c.set(0, int64(d/time.Second)) }

// Slow makes each sync wait.
func (c *Control) Slow(d time.Duration) error { return c.set(8, int64(d)) }

func (c *Control) set(at, v int64) error {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(v))
	_, err := c.f.WriteAt(b[:], at)
	return err
}

// Close closes the file; the process keeps its last values.
func (c *Control) Close() error { return c.f.Close() }
