package node

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestCopyPacked: COPY compresses files, as their names say or as it is told, and reads them again, as
// FROM 'file' does.
func TestCopyPacked(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	dir := t.TempDir()
	c.must("create table t as select i, repeat('word ' || i, 50) as w from generate_series(1, 3000) i")
	want := c.must("select * from t order by i")
	for _, x := range []struct{ name, options, magic string }{
		{"a.csv.gz", "format csv, header", "\x1f\x8b"},
		{"a.csv.zst", "format csv, header", "\x28\xb5\x2f\xfd"},
		{"b.csv.GZ", "format csv, header, compression auto", "\x1f\x8b"},
		{"b.csv", "format csv, header, compression none", "i,w\n"},
		{"c.csv", "format csv, header, compression gzip", "\x1f\x8b"},
		{"d.bin.zst", "format binary", "\x28\xb5\x2f\xfd"},
		{"e.parquet", "format parquet, compression gzip", "PAR1"},
	} {
		path := filepath.Join(dir, x.name)
		if tag := c.must("copy t to '" + path + "' with (" + x.options + ")"); len(tag) != 0 {
			t.Error(tag)
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 4 || string(b[:len(x.magic)]) != x.magic {
			t.Errorf("%s: %v, begins with %q", x.name, err, b[:min(len(b), 4)])
		}
		c.must("create table back (i int, w text)")
		options := x.options
		if x.name == "e.parquet" {
			options = "format parquet"
		}
		c.must("copy back from '" + path + "' with (" + options + ")")
		if got := c.must("select * from back order by i"); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, not %d", x.name, len(got), len(want))
		}
		c.must("drop table back")
	}
	if got := c.must("select * from '" + dir + "/a.csv.zst' order by i"); !slices.Equal(got, want) {
		t.Error(len(got), "rows of the file in FROM")
	}
	if got := c.must("select * from read_csv('" + dir + "/c.csv', compression => 'gzip') order by i"); !slices.Equal(got, want) {
		t.Error(len(got), "rows of read_csv")
	}
	cut := filepath.Join(dir, "cut.csv.gz")
	if b, err := os.ReadFile(filepath.Join(dir, "a.csv.gz")); err != nil || os.WriteFile(cut, b[:len(b)/2], 0o600) != nil {
		t.Fatal(err)
	}
	for sql, code := range map[string]pgerr.Code{
		"copy t from '" + cut + "' with (format csv, header)":                            pgerr.IOError,
		"copy t from '" + dir + "/b.csv' with (format csv, header, compression gzip)":    pgerr.IOError,
		"copy t to '" + dir + "/x.csv' with (format csv, compression 'rar')":             pgerr.InvalidParameterValue,
		"copy t to stdout with (format csv, compression gzip)":                           pgerr.FeatureNotSupported,
		"copy t to '" + dir + "/x.parquet' with (format parquet, compression 'no such')": pgerr.InvalidParameterValue,
	} {
		if _, err := c.do(sql); pgerr.CodeOf(err) != code {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if got := c.must("select count(*) from t"); got[0] != "3000" {
		t.Error(got)
	}
}
