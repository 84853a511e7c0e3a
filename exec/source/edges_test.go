package source

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestParquetEdges: types at the ends of their ranges, encodings and compressions that few writers
// choose. testdata has files of pyarrow and DuckDB, and what these read back of them.
func TestParquetEdges(t *testing.T) {
	const big = "-1.9999999999999999999999999999999999999999"
	for name, want := range map[string]string{
		"int96":     strings.ReplaceAll("0001-01-01 00:00:00Z\n1500-06-01 12:30:15.123456Z\n1969-12-31 23:59:59.999999Z\n2262-04-12 00:00:00Z\n9999-12-31 23:59:59.999999Z\n∅", "Z", "+00"),
		"split":     "1.5|0.1|-1|-1|5.9604645e-08\n∅|∅|∅|∅|∅\n-0.1|1e+300|2147483647|9223372036854775807|-65504",
		"infinite":  "-infinity|-infinity\ninfinity|infinity",
		"latems":    "22008 timestamp out of range",
		"latedate":  "22008 date out of range",
		"int96list": "0A000 timestamps of INT96 before 1678 or after 2261 are not supported in nested columns",
		"variant":   `0A000 column "v" of file`,
		"edges": strings.Repeat("x", 50) + "|" + big + `|5.9604645e-08|{"b": "\\xff", "d": 123456789012345678.12345678901234567890, "l": [1, null], "n": "NaN", "ts": "9999-12-31T01:02:03.456789+00:00"}` +
			"\n∅|∅|∅|∅\n" + strings.Repeat("é", 20) + `|7.0000000000000000000000000000000000000000|Infinity|{"b": null, "d": null, "l": null, "n": null, "ts": null}`,
	} {
		s := New(nil)
		rows, err := tryRead(s, src(t, s, "read_parquet", []plan.Arg{arg("", "testdata/"+name+".parquet")}), 1)
		got := strings.Join(rows, "\n")
		if err != nil {
			got = string(pgerr.CodeOf(err)) + " " + pgerr.From(err).Message
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, want)
		}
	}
	// A column that cannot be read does not matter to others.
	for name, cols := range map[string][]string{"variant": {"ok", "last"}, "int96list": {"u"}} {
		s := New(nil)
		if _, err := tryRead(s, src(t, s, "read_parquet", []plan.Arg{arg("", "testdata/"+name+".parquet")}, cols...), 1); err != nil {
			t.Errorf("%s, columns %v: %v", name, cols, err)
		}
	}
}

// TestHadoopLZ4: the codec LZ4 is Hadoop's frames, or of other writers a block alone; damage is an
// error.
func TestHadoopLZ4(t *testing.T) {
	plain := []byte(strings.Repeat("abcdefgh", 1000))
	var frames []byte
	for part := range slices.Chunk(plain, 3000) {
		block := make([]byte, lz4.CompressBlockBound(len(part)))
		n, err := lz4.CompressBlock(part, block, nil)
		if err != nil {
			t.Fatal(err)
		}
		frames = binary.BigEndian.AppendUint32(frames, uint32(len(part)))
		frames = binary.BigEndian.AppendUint32(frames, uint32(n))
		frames = append(frames, block[:n]...)
	}
	block := make([]byte, lz4.CompressBlockBound(len(plain)))
	n, err := lz4.CompressBlock(plain, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, len(plain))
	for what, packed := range map[string][]byte{"frames": frames, "a block": block[:n]} {
		clear(out)
		if err := unHadoopLZ4(out, packed); err != nil || !slices.Equal(out, plain) {
			t.Errorf("%s: %v", what, err)
		}
		for cut := range len(packed) {
			if unHadoopLZ4(out, packed[:cut]) == nil {
				t.Errorf("%s of %d bytes, cut to %d, is taken", what, len(packed), cut)
			}
		}
	}
}
