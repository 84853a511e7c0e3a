package copyfmt_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// chunks decodes as decode does, with several threads.
func chunks(t *testing.T, in io.Reader, o copyfmt.Options, threads int) (rows []string, err error) {
	t.Helper()
	pool := mem.NewPool("test", 1<<30)
	r, err := copyfmt.NewReader(in, cols, o, env, 3, "t", threads, func() *mem.Account { return pool.Account("copy", false) })
	if err != nil {
		t.Fatal(err)
	}
	rows, err = rowsOf(r)
	r.Close()
	if left := pool.Close(); left != 0 {
		t.Errorf("%d bytes are still charged", left)
	}
	return rows, err
}

// TestReader: whatever the size of chunks and the number of threads, the rows, and the error after
// them, are those of a single Decoder.
func TestReader(t *testing.T) {
	csv := copyfmt.Option{Name: "format", Value: "csv"}
	formats := map[string][]copyfmt.Option{
		"text": {}, "csv": {csv}, "header": {csv, {Name: "header", Value: "true"}},
		"escape": {csv, {Name: "quote", Value: "'"}, {Name: "escape", Value: "\\"}},
		"binary": {{Name: "format", Value: "binary"}},
	}
	words := map[string][]string{
		"text": {"1\ta\t1.5\t\n", "2\t\\N\tNaN\tx\n", "3\ta\\\nb\\\\\t0\t\r\n", "4\tä\\nö\t\\N\t\n"},
		"csv":  {"1,a,1.5,\n", "2,\"x\"\"\n,\n\",,\n", "3,\"\",2,\r\n", "\"4\",ä,0,z\n"},
	}
	words["header"], words["binary"] = words["csv"], words["text"]
	words["escape"] = []string{"1,a,1.5,\n", "2,'x\\'\n,\\\\',,\n", "3,'',2,\r\n"}
	odd := []string{"x,x,x\n", "\\.\n", "\"", "'", "y\ty\n", "5,\xff,1,\n"}
	rng := rand.New(rand.NewSource(3))
	for name, opts := range formats {
		o := options(t, true, opts...)
		for range 300 {
			var b strings.Builder
			for range rng.Intn(40) {
				if w := words[name]; rng.Intn(60) > 0 {
					b.WriteString(w[rng.Intn(len(w))])
				} else {
					b.WriteString(odd[rng.Intn(len(odd))])
				}
			}
			in := b.String()
			if rng.Intn(3) == 0 {
				in = strings.TrimSuffix(in, "\n")
			}
			want, wantErr := decode(strings.NewReader(in), o, 3)
			restore := copyfmt.SetChunks(1 + rng.Intn(60))
			got, err := chunks(t, iotest.HalfReader(strings.NewReader(in)), o, 1+rng.Intn(4))
			restore()
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || where(err) != where(wantErr) || wantErr == nil && strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%s %q:\n%q %v %s, not\n%q %v %s", name, in, got, err, where(err), want, wantErr, where(wantErr))
			}
		}
	}
}

func where(err error) string {
	var e *pgerr.Error
	if errors.As(err, &e) {
		return e.Where
	}
	return ""
}

// TestReaderStops: an error of the stream is returned by the Reader; without memory to read chunks
// ahead it works with one chunk.
func TestReaderStops(t *testing.T) {
	const size = 64 << 10
	defer copyfmt.SetChunks(size)()
	text := options(t, true)
	broken := errors.New("broken")
	if _, err := chunks(t, io.MultiReader(strings.NewReader(strings.Repeat("1\ta\t1\t\n", 1<<16)), iotest.ErrReader(broken)), text, 2); !errors.Is(err, broken) {
		t.Errorf("a broken stream: %v", err)
	}
	for limit, ok := range map[int64]bool{6 * size: true, 3 * size: false} {
		pool := mem.NewPool("test", limit)
		r, err := copyfmt.NewReader(strings.NewReader(strings.Repeat("1\ta\t1\t\n", 1<<16)), cols, text, env, 3, "t", 2, func() *mem.Account { return pool.Account("copy", false) })
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(r)
		if (err == nil) != ok || ok && len(rows) != 1<<16 {
			t.Errorf("%d bytes: %d rows, %v", limit, len(rows), err)
		}
		r.Close()
		pool.Close()
	}
}

// TestReadAheadLeavesRoom: what is read ahead of long records leaves room to who writes their rows.
func TestReadAheadLeavesRoom(t *testing.T) {
	const records, long = 40, 1_000_000
	pool := mem.NewPool("test", 16<<20)
	r, err := copyfmt.NewReader(strings.NewReader(strings.Repeat("1\t"+strings.Repeat("a", long)+"\t1\t\n", records)), cols, options(t, false), env, 8192, "t", 8, func() *mem.Account { return pool.Account("copy", false) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	writer := pool.Account("write", false)
	defer writer.Close()
	rows := 0
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += b.N
		if err := writer.Grow(4 * long); err != nil {
			t.Fatal(err)
		}
		writer.Shrink(4 * long)
	}
	if rows != records {
		t.Errorf("%d rows of %d", rows, records)
	}
}
