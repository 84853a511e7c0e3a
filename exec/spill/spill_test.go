package spill_test

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

var ts = []types.Type{types.Int8, types.Text}

var dts = []arrow.DataType{types.Int8.Arrow(), types.Text.Arrow()}

func write(t *testing.T, d *spill.Dir, tb optest.Table) *spill.Run {
	t.Helper()
	w, err := d.Create(dts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, b := range tb.Batches(t, optest.Form{Size: 100, Dict: true, Mix: true}) {
		if err := w.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	run, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func read(t *testing.T, run *spill.Run) ([]types.Row, error) {
	t.Helper()
	r, err := run.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []types.Row
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, optest.RowsOf(b, ts)...)
	}
}

func TestRuns(t *testing.T) {
	tb := optest.Random(rand.New(rand.NewSource(1)), 1000, ts...)
	for _, compress := range []bool{false, true} {
		parent := t.TempDir()
		pool := mem.NewPool("n", 0)
		budget := &spill.Budget{}
		d := spill.NewDir(spill.Options{Parent: parent, Pool: pool, Budget: budget, Compress: compress})
		run := write(t, d, tb)
		for range 2 {
			got, err := read(t, run)
			if err != nil {
				t.Fatal(err)
			}
			optest.Compare(t, got, tb.Rows, ts, true)
		}
		_, disk := run.Size()
		if run.Rows() != 1000 || pool.Spilled() != disk || budget.Used() != disk {
			t.Errorf("rows %d, spilled %d, budget %d, disk %d", run.Rows(), pool.Spilled(), budget.Used(), disk)
		}
		kept := write(t, d, tb)
		if err := run.Remove(); err != nil {
			t.Fatal(err)
		}
		if err := run.Remove(); err != nil {
			t.Fatal(err)
		}
		_, disk = kept.Size()
		if budget.Used() != disk {
			t.Errorf("budget %d after removing, want %d", budget.Used(), disk)
		}
		w, err := d.Create(dts)
		if err != nil {
			t.Fatal(err)
		}
		w.Abort()
		w.Abort()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(parent); len(left) > 0 || budget.Used() != 0 {
			t.Errorf("%d left, budget %d", len(left), budget.Used())
		}
		if _, err := d.Create(dts); err == nil {
			t.Error("a closed directory makes files")
		}
	}
}

func TestDamage(t *testing.T) {
	tb := optest.Random(rand.New(rand.NewSource(1)), 300, ts...)
	d := spill.NewDir(spill.Options{Parent: t.TempDir()})
	defer d.Close()
	for _, at := range []int64{0, 3, 9, 17, 30, 200} {
		run := write(t, d, tb)
		files, _ := filepath.Glob(filepath.Join(d.Path(), "*"))
		f, err := os.OpenFile(files[0], os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		var b [1]byte
		f.ReadAt(b[:], at)
		b[0] ^= 0x10
		f.WriteAt(b[:], at)
		f.Close()
		if _, err := read(t, run); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("byte %d changed: %v", at, err)
		}
		run.Remove()
	}
	run := write(t, d, tb)
	files, _ := filepath.Glob(filepath.Join(d.Path(), "*"))
	os.Truncate(files[0], 5000)
	if _, err := read(t, run); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Errorf("truncated: %v", err)
	}
}

func TestBudget(t *testing.T) {
	tb := optest.Random(rand.New(rand.NewSource(1)), 1000, ts...)
	budget := &spill.Budget{Limit: 4096}
	d := spill.NewDir(spill.Options{Parent: t.TempDir(), Budget: budget})
	defer d.Close()
	w, err := d.Create(dts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		w.Abort()
		if budget.Used() != 0 {
			t.Errorf("%d bytes are still counted", budget.Used())
		}
	}()
	for _, b := range tb.Batches(t, optest.Form{Size: 100}) {
		if err = w.Append(context.Background(), b); err != nil {
			break
		}
	}
	if !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		return // /dev/full exists on Linux only
	}
	err := spill.WriteError(func() error {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Write([]byte("x"))
		return err
	}())
	if !pgerr.Is(err, pgerr.DiskFull) {
		t.Errorf("error %v", err)
	}
}

func TestSweep(t *testing.T) {
	parent := t.TempDir()
	d := spill.NewDir(spill.Options{Parent: parent})
	write(t, d, optest.Random(rand.New(rand.NewSource(1)), 10, ts...))
	os.Mkdir(filepath.Join(parent, "other"), 0o700)
	if err := spill.Sweep(parent); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(parent)
	if len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("left %v", left)
	}
	if err := spill.Sweep(filepath.Join(parent, "none")); err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// TestLongFrames: a value longer than a frame is written directly, without copying it to a buffer,
// and charged when it is read.
func TestLongFrames(t *testing.T) {
	pool := mem.NewPool("node", 64<<20)
	d := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool, Compress: true})
	defer d.Close()
	long := make([]byte, 9<<20)
	for i := range long {
		long[i] = 'a' + byte(i%23)
	}
	tb := optest.Table{Types: ts}
	for i := range 3 {
		tb.Rows = append(tb.Rows, types.Row{int64(i), string(long[i:])}, types.Row{nil, "short"}, types.Row{int64(-i), nil})
	}
	for _, dict := range []bool{false, true} {
		w, err := d.Create(dts)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range tb.Batches(t, optest.Form{Size: 2, Dict: dict}) {
			if err := w.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		run, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t, run)
		if err != nil || len(got) != len(tb.Rows) {
			t.Fatal(len(got), err)
		}
		for i, r := range got {
			if types.Compare(types.Text, r[1], tb.Rows[i][1]) != 0 || r[1] == nil != (tb.Rows[i][1] == nil) || r[0] != tb.Rows[i][0] {
				t.Errorf("row %d is another", i)
			}
		}
		if u := pool.Used(); u != 0 {
			t.Errorf("%d bytes are held", u)
		}
		pool.SetLimit(6 << 20)
		if _, err := read(t, run); !pgerr.Is(err, pgerr.OutOfMemory) {
			t.Errorf("long rows are read without room for them: %v", err)
		}
		pool.SetLimit(64 << 20)
	}
}

// TestDividedFrames: a batch of many bytes is read back in parts that a small pool has room for, its
// rows and their order as they were; values that all rows share are not written for each part, and At
// returns whole batches.
func TestDividedFrames(t *testing.T) {
	pool := mem.NewPool("node", 1<<20)
	d := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
	defer d.Close()
	wide := func(i, n int) string { return fmt.Sprint(i) + strings.Repeat("w", n) }
	even, uneven, shared, large := optest.Table{Types: ts}, optest.Table{Types: ts}, optest.Table{Types: ts}, optest.Table{Types: ts}
	for i := range 128 {
		even.Rows = append(even.Rows, types.Row{int64(i), wide(i, 100_000)})
		uneven.Rows = append(uneven.Rows, types.Row{int64(i), wide(i, max(0, 120-i)/110*800_000)})
		shared.Rows = append(shared.Rows, types.Row{int64(i), wide(i%2, 600_000)})
		large.Rows = append(large.Rows, types.Row{int64(i), wide(i, max(0, i-125)*2<<20)})
	}
	for _, x := range []struct {
		name  string
		tb    optest.Table
		dict  bool
		bytes int64 // of a batch that is read, at most
		disk  int64
		limit int64 // of the pool that reads them
	}{
		{"even", even, false, 1 << 20, 13 << 20, 1 << 20},
		{"even, dictionary", even, true, 1 << 20, 13 << 20, 1 << 20},
		{"uneven", uneven, false, 1 << 20, 10 << 20, 1 << 20},
		{"uneven, dictionary", uneven, true, 1 << 20, 10 << 20, 1 << 20},
		{"shared", shared, true, 2 << 20, 2 << 20, 1 << 20},
		{"large", large, false, 5 << 20, 7 << 20, 5 << 20},
	} {
		t.Run(x.name, func(t *testing.T) {
			w, err := d.Create(dts)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			for _, b := range x.tb.Batches(t, optest.Form{Size: len(x.tb.Rows), Dict: x.dict}) {
				if err := w.Append(context.Background(), b); err != nil {
					t.Fatal(err)
				}
			}
			run, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if _, disk := run.Size(); disk > x.disk {
				t.Errorf("%d bytes on disk", disk)
			}
			pool.SetLimit(x.limit)
			r, err := run.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []types.Row
			for {
				b, err := r.Next(context.Background())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if n := b.Bytes(); n > x.bytes {
					t.Errorf("a batch of %d bytes", n)
				}
				got = append(got, optest.RowsOf(b, ts)...)
			}
			if !reflect.DeepEqual(got, x.tb.Rows) {
				t.Errorf("%d rows of %d, or other ones", len(got), len(x.tb.Rows))
			}
		})
	}
	w, err := d.Create(dts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, b := range even.Batches(t, optest.Form{Size: 64}) {
		if err := w.AppendWhole(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := w.At(context.Background(), 1); err != nil || w.Batches() != 2 || !reflect.DeepEqual(optest.RowsOf(b, ts), even.Rows[64:]) {
		t.Errorf("the second of %d batches: %v, or other rows", w.Batches(), err)
	}
}

// TestColumns: keeping one column of wide rows that were read does not keep the whole frames in
// memory.
func TestColumns(t *testing.T) {
	const frames, rows = 40, 1000
	dir := spill.NewDir(spill.Options{Parent: t.TempDir()})
	w, err := dir.Create(dts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	wide := strings.Repeat("wide", 250)
	for f := range frames {
		tb := optest.Table{Types: ts}
		for i := range rows {
			tb.Rows = append(tb.Rows, types.Row{int64(f*rows + i), wide})
		}
		for _, b := range tb.Batches(t, optest.Form{Size: rows}) {
			if err := w.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	run, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Columns([]int{0})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept []*batch.Batch
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, b)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	var n int64
	for _, b := range kept {
		for _, row := range optest.RowsOf(b, ts[:1]) {
			if row[0] != n {
				t.Fatalf("row %d has %v", n, row)
			}
			n++
		}
	}
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); n != frames*rows || held > frames*rows*1000/4 {
		t.Errorf("%d rows of 8 bytes hold %d bytes", n, held)
	}
}
