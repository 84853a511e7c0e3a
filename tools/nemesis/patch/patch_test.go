package patch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// probe is a program that prints, for each line of its input, its clocks and how long each kind of
// sync took.
const probe = `package main

import ("bufio"; "fmt"; "os"; "syscall"; "time")

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil { panic(err) }
	began := time.Now()
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		t := time.Now()
		if err := f.Sync(); err != nil { panic(err) }
		a := time.Since(t)
		t = time.Now()
		if err := syscall.Fdatasync(int(f.Fd())); err != nil { panic(err) }
		b := time.Since(t)
		fmt.Println(t.Unix(), time.Since(began).Nanoseconds(), a.Nanoseconds(), b.Nanoseconds())
	}
}
`

// TestPatch: while a patched process runs, its wall clock can be set forward and back without an
// effect on its monotonic clock, and both kinds of sync can be delayed.
func TestPatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the library can be patched on Linux only")
	}
	dir := t.TempDir()
	overlay, err := Overlay(dir)
	if err != nil {
		t.Fatal(err)
	}
	main, program := filepath.Join(dir, "probe.go"), filepath.Join(dir, "probe")
	if err := os.WriteFile(main, []byte(probe), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, main).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := NewControl(filepath.Join(dir, "control"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd := exec.Command(program, filepath.Join(dir, "file"))
	cmd.Env = append(os.Environ(), c.Env())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	var last int64
	ask := func(shift, slow time.Duration) {
		t.Helper()
		if err := c.Shift(shift); err != nil {
			t.Fatal(err)
		}
		if err := c.Slow(slow); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		var unix, mono, sync, datasync int64
		if _, err := fmt.Fscan(answers, &unix, &mono, &sync, &datasync); err != nil {
			t.Fatal(err)
		}
		after := time.Now()
		if least, most := before.Add(shift).Unix(), after.Add(shift).Unix(); unix < least || unix > most {
			t.Errorf("shifted by %v the clock shows %d, not %d to %d", shift, unix, least, most)
		}
		if mono <= last || time.Duration(mono-last) > time.Hour/2 {
			t.Errorf("shifted by %v the monotonic clock went from %d to %d", shift, last, mono)
		}
		last = mono
		if time.Duration(sync) < slow || time.Duration(datasync) < slow {
			t.Errorf("syncs that wait %v took %v and %v", slow, time.Duration(sync), time.Duration(datasync))
		}
	}
	ask(0, 0)
	ask(6*time.Hour, 0)
	ask(-30*time.Hour, 30*time.Millisecond)
	ask(0, 0)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
