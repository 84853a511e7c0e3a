package types

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/internal/golden"
)

// testEnv parses settings written as in SET.
func testEnv(t *testing.T, s string) *Env {
	t.Helper()
	e := *DefaultEnv
	e.Now = time.Date(2024, 2, 29, 12, 34, 56, 789000000, time.UTC)
	for _, kv := range strings.Split(s, ";") {
		k, v, _ := strings.Cut(kv, "=")
		v = strings.Trim(v, "'")
		switch k {
		case "":
		case "datestyle":
			style, order, _ := strings.Cut(v, ", ")
			e.DateStyle = map[string]datetime.DateStyle{"ISO": datetime.DateISO, "SQL": datetime.DateSQL, "German": datetime.DateGerman, "Postgres": datetime.DatePostgres}[style]
			e.DateOrder = map[string]datetime.DateOrder{"MDY": datetime.OrderMDY, "DMY": datetime.OrderDMY, "YMD": datetime.OrderYMD}[order]
		case "timezone":
			loc, ok := datetime.LoadZone(v)
			if !ok {
				t.Fatalf("no zone %s", v)
			}
			e.Location = loc
		case "intervalstyle":
			e.IntervalStyle = map[string]datetime.IntervalStyle{"postgres": datetime.IntervalPostgres, "postgres_verbose": datetime.IntervalVerbose,
				"sql_standard": datetime.IntervalSQL, "iso_8601": datetime.IntervalISO}[v]
		case "extra_float_digits":
			e.ExtraFloatDigits, _ = strconv.Atoi(v)
		case "bytea_output":
			e.ByteaOutput = ByteaEscape
		default:
			t.Fatalf("setting %s", k)
		}
	}
	return &e
}

// testType parses a type name with its modifier.
func testType(t *testing.T, name string) Type {
	t.Helper()
	base, tail, mods := name, "", []int32(nil)
	if i := strings.IndexByte(name, '('); i >= 0 {
		j := strings.IndexByte(name, ')')
		base, tail = strings.TrimSpace(name[:i]), name[j+1:]
		for _, m := range strings.Split(name[i+1:j], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(m))
			if err != nil {
				t.Fatal(err)
			}
			mods = append(mods, int32(n))
		}
	}
	if strings.HasPrefix(base, "interval") && !strings.HasSuffix(tail, "]") {
		mask := int32(datetime.FullRange)
		for _, r := range datetime.IntervalRanges {
			if "interval"+r.Text == base {
				mask = int32(r.Mask)
			}
		}
		mod, err := TypmodIn(IntervalOID, append([]int32{mask}, mods...))
		if err != nil {
			t.Fatal(err)
		}
		return Type{OID: IntervalOID, Mod: mod}
	}
	o, ok := ByName(base + tail)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	typ := Type{OID: o, Mod: -1}
	if mods != nil {
		var err error
		if typ.Mod, err = TypmodIn(o, mods); err != nil {
			t.Fatal(err)
		}
	}
	return typ
}

// castText returns the value of '...'::type, as text.
func castText(typ Type, s string, env *Env) (Datum, string, error) {
	plain := typ
	if typ.OID != IntervalOID {
		plain.Mod = -1
	}
	d, err := ParseText(plain, s, env)
	if err == nil {
		d, err = ApplyMod(typ, d, true)
	}
	if err != nil {
		return nil, "", err
	}
	return d, TextOf(typ, d, env), nil
}

func TestTextGolden(t *testing.T)   { textGolden(t, "text.tsv") }
func TestCorpusGolden(t *testing.T) { textGolden(t, "corpus.tsv") }

func textGolden(t *testing.T, file string) {
	bad := map[string]int{}
	for _, r := range golden.Read(t, file) {
		typ, env := testType(t, r[0]), testEnv(t, r[1])
		d, text, err := castText(typ, r[2], env)
		if typ.OID == BoolOID { // a cast to text gives true, the text format t
			r[3] = strings.TrimSuffix(strings.TrimSuffix(r[3], "rue"), "alse")
		}
		if typ.OID == BpcharOID { // a cast to text drops trailing blanks
			text = TrimBlanks(text)
		}
		if got := golden.Outcome(text, err); got != r[3] {
			if bad[r[0]]++; bad[r[0]] <= 12 {
				t.Errorf("%s [%s] %q\n   got %s\n  want %s", r[0], r[1], r[2], got, r[3])
			}
			continue
		}
		if err != nil {
			continue
		}
		// Every value that can be parsed must round-trip through the binary format and through an
		// Arrow column.
		wire := AppendBinary(nil, typ, d)
		back, err := ParseBinary(typ, wire)
		if err != nil || !Equal(typ, d, back) || strings.TrimRight(TextOf(typ, back, env), " ") != strings.TrimRight(text, " ") {
			t.Errorf("%s %q: binary form %x reads back as %v (%v)", r[0], r[2], wire, back, err)
		}
		arr, err := ArrayOf1(typ, d, 2)
		if err != nil {
			t.Errorf("%s %q: column: %v", r[0], r[2], err)
			continue
		}
		if back := DatumAt(typ, arr, 1); !Equal(typ, d, back) || strings.TrimRight(TextOf(typ, back, env), " ") != strings.TrimRight(text, " ") {
			t.Errorf("%s %q: column gives %v", r[0], r[2], back)
		}
		if Hash(typ, d, 1) != Hash(typ, back, 1) {
			t.Errorf("%s %q: hashes differ", r[0], r[2])
		}
	}
	for name, n := range bad {
		t.Logf("%s: %d differ", name, n)
	}
}
