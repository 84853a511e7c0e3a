package types

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/internal/golden"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestApplyMod(t *testing.T) {
	for _, c := range []struct {
		typ      string
		in       string
		explicit bool
		want     string
	}{
		{"varchar(3)", "abcd", true, "=abc"},
		{"varchar(3)", "abcd", false, "!22001 value too long for type character varying(3)"},
		{"varchar(3)", "abc  ", false, "=abc"},
		{"varchar(3)", "éèê", false, "=éèê"},
		{"varchar(2)", "éèê", true, "=éè"},
		{"char(4)", "ab", false, "=ab  "},
		{"char(4)", "abcde", true, "=abcd"},
		{"char(4)", "abcde", false, "!22001 value too long for type character(4)"},
		{"char(4)", "ab        ", false, "=ab  "},
		{"bit(4)", "10101", true, "=1010"},
		{"bit(4)", "1", true, "=1000"},
		{"bit(4)", "1", false, "!22026 bit string length 1 does not match type bit(4)"},
		{"bit varying(2)", "101", false, "!22001 bit string too long for type bit varying(2)"},
		{"numeric(3,1)", "99.95", false, "!22003 numeric field overflow|D A field with precision 3, scale 1 must round to an absolute value less than 10^2."},
		{"numeric(3,1)", "99.94", false, "=99.9"},
		{"time(0)", "12:34:56.5", false, "=12:34:57"},
		{"timestamptz(3)", "2020-01-01 00:00:00.0005+00", false, "=2020-01-01 00:00:00.001+00"},
		{"varchar(2)[]", "{abc,d}", true, "={ab,d}"},
		{"varchar(2)[]", "{abc,d}", false, "!22001 value too long for type character varying(2)"},
		{"interval day to hour", "1 day 02:03:04", false, "=1 day 02:00:00"},
	} {
		typ := testType(t, c.typ)
		plain := typ
		plain.Mod = -1
		d, err := ParseText(plain, c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d, err = ApplyMod(typ, d, c.explicit); err != nil {
			d = nil
		}
		if got := golden.Outcome(TextOf(typ, d, nil), err); got != c.want {
			t.Errorf("%s of %q (explicit %v)\n   got %s\n  want %s", c.typ, c.in, c.explicit, got, c.want)
		}
		if !c.explicit {
			d, err := ParseText(typ, c.in, nil)
			if err != nil {
				d = nil
			}
			if got := golden.Outcome(TextOf(typ, d, nil), err); got != c.want {
				t.Errorf("reading %s %q\n   got %s\n  want %s", c.typ, c.in, got, c.want)
			}
		}
	}
}

func TestTypmodIn(t *testing.T) {
	for _, c := range []struct {
		o    OID
		mods []int32
		want string
	}{
		{VarcharOID, []int32{10}, "=character varying(10)"},
		{VarcharOID, []int32{0}, "!22023 length for type varchar must be at least 1"},
		{BpcharOID, []int32{10485761}, "!22023 length for type char cannot exceed 10485760"},
		{NumericOID, []int32{1001}, "!22023 NUMERIC precision 1001 must be between 1 and 1000"},
		{NumericOID, []int32{10, 1001}, "!22023 NUMERIC scale 1001 must be between -1000 and 1000"},
		{NumericOID, []int32{3, -2}, "=numeric(3,-2)"},
		{NumericOID, []int32{1, 2, 3}, "!22023 invalid NUMERIC type modifier"},
		{TimestampOID, []int32{9}, "=timestamp(6) without time zone"},
		{1231, []int32{5, 1}, "=numeric(5,1)[]"},
		{Int4OID, []int32{5}, "!42601 type modifier is not allowed for type \"integer\""},
	} {
		mod, err := TypmodIn(c.o, c.mods)
		if got := golden.Outcome(Type{OID: c.o, Mod: mod}.String(), err); got != c.want {
			t.Errorf("%d%v\n   got %s\n  want %s", c.o, c.mods, got, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	fixed := FixedNumeric(10, 2, true)
	b := array.NewBuilder(memory.DefaultAllocator, fixed.Arrow())
	for _, c := range []struct {
		in   string
		code pgerr.Code
	}{{"1.5", ""}, {"1.50", ""}, {"1.505", pgerr.InternalError}, {"1e18", pgerr.NumericValueOutOfRange}, {"NaN", pgerr.NumericValueOutOfRange}} {
		d, _ := number.ParseDecimal(c.in)
		if err := AppendDatum(b, fixed, d); pgerr.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.in, err)
		}
	}
	if got := TextOf(fixed, DatumAt(fixed, b.NewArray(), 0), nil); got != "1.50" {
		t.Errorf("1.5 in a fixed column of scale 2 is %s", got)
	}
	if err := AppendDatum(array.NewInt32Builder(memory.DefaultAllocator), Int4, "x"); !pgerr.Is(err, pgerr.InternalError) {
		t.Errorf("a string in an int column: %v", err)
	}

	rec := Type{OID: RecordOID, Mod: -1, Rec: &Record{Fields: []Field{{"a", Int4}, {"b", Text}, {"c", Type{OID: 1231, Mod: -1}}}}}
	for _, s := range []string{`(1,"a b","{1.50,NULL}")`, `(,,)`, `(-5,"",{})`, `(7,"(x,""y\\"")",)`} {
		d, err := ParseText(rec, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		arr, err := ArrayOf1(rec, d, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := TextOf(rec, DatumAt(rec, arr, 2), nil); got != s {
			t.Errorf("%s comes back as %s", s, got)
		}
		back, err := ParseBinary(rec, AppendBinary(nil, rec, d))
		if err != nil || TextOf(rec, back, nil) != s {
			t.Errorf("%s: binary form comes back as %v (%v)", s, back, err)
		}
	}
	for _, c := range []struct{ in, want string }{
		{"1,2,3", `!22P02 malformed record literal: "1,2,3"|D Missing left parenthesis.`},
		{"(1,2", `!22P02 malformed record literal: "(1,2"|D Unexpected end of input.`},
		{"(1)", `!22P02 malformed record literal: "(1)"|D Too few columns.`},
		{"(1,2,{},4)", `!22P02 malformed record literal: "(1,2,{},4)"|D Too many columns.`},
		{"(1,2,) x", `!22P02 malformed record literal: "(1,2,) x"|D Junk after right parenthesis.`},
		{"(x,2,)", `!22P02 invalid input syntax for type integer: "x"`},
	} {
		if _, err := ParseText(rec, c.in, nil); golden.Outcome("", err) != c.want {
			t.Errorf("%s gives %s", c.in, golden.Outcome("", err))
		}
	}

	// NULLs, constants and the dictionary form.
	for _, p := range PgTypes() {
		typ := Type{OID: p.OID, Mod: -1}
		arr, err := ArrayOf1(typ, nil, 3)
		if err != nil || arr.Len() != 3 || DatumAt(typ, arr, 1) != nil {
			t.Errorf("%s: a column of NULLs fails: %v", typ, err)
		}
	}
	arr, _ := ArrayOf1(Text, "x", 4)
	if _, dict := arr.(*array.Dictionary); !dict || DatumAt(Text, arr, 3) != "x" {
		t.Errorf("constant strings: %v", arr)
	}
	db := array.NewBuilder(memory.DefaultAllocator, DictArrow)
	for _, d := range []Datum{"a", nil, "b", "a"} {
		if err := AppendDatum(db, Text, d); err != nil {
			t.Fatal(err)
		}
	}
	arr = db.NewArray()
	if DatumAt(Text, arr, 3) != "a" || DatumAt(Text, arr, 1) != nil {
		t.Errorf("dictionary: %v", arr)
	}
}

func TestBadBinary(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		b    []byte
		code pgerr.Code
	}{
		{Int4, []byte{1}, pgerr.ProtocolViolation},
		{Int4, []byte{1, 2, 3, 4, 5}, pgerr.InvalidBinaryRepresentation},
		{Text, []byte{0xff}, pgerr.CharacterNotInRepertoire},
		{Text, []byte{'a', 0}, pgerr.CharacterNotInRepertoire},
		{Numeric, []byte{0x7f, 0xff, 0, 0, 0, 0, 0, 0}, pgerr.InvalidBinaryRepresentation},
		{Numeric, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10}, pgerr.InvalidBinaryRepresentation},
		{Numeric, []byte{0, 0, 0, 0, 0x12, 0x34, 0, 0}, pgerr.InvalidBinaryRepresentation},
		{Date, []byte{0x7f, 0xff, 0xff, 0xfe}, pgerr.DatetimeFieldOverflow},
		{Timestamp, []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0}, pgerr.DatetimeFieldOverflow},
		{Time, []byte{0xff, 0, 0, 0, 0, 0, 0, 0}, pgerr.DatetimeFieldOverflow},
		{JSONB, []byte{2, '1'}, pgerr.InvalidBinaryRepresentation},
		{JSONB, []byte{1, '{'}, pgerr.InvalidTextRepresentation},
		{Type{OID: 1007, Mod: -1}, []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1}, pgerr.ProtocolViolation},
		{Type{OID: JSONPathOID, Mod: -1}, []byte("$.a"), pgerr.InvalidBinaryRepresentation},
		{Type{OID: JSONPathOID, Mod: -1}, []byte("\x01$.\xff"), pgerr.CharacterNotInRepertoire},
		{Type{OID: JSONPathOID, Mod: -1}, []byte("\x01$."), pgerr.SyntaxError},
		{Type{OID: 1007, Mod: -1}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25}, pgerr.DatatypeMismatch},
		{Type{OID: 1007, Mod: -1}, []byte{0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 23}, pgerr.FeatureNotSupported},
		{Type{OID: VarbitOID, Mod: -1}, []byte{0x7f, 0xff, 0xff, 0xff, 0}, pgerr.InvalidBinaryRepresentation},
	} {
		if d, err := ParseBinary(c.typ, c.b); pgerr.CodeOf(err) != c.code {
			t.Errorf("%s %x gives %v, %v; want %s", c.typ, c.b, d, err, c.code)
		}
	}
}

func TestWidens(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"varchar(10)", "varchar(20)", true},
		{"varchar(20)", "varchar(10)", false},
		{"varchar(20)", "varchar", true},
		{"varchar(20)", "text", true},
		{"text", "varchar", true},
		{"text", "varchar(20)", false},
		{"char(4)", "char(8)", false}, // values must be padded with blanks
		{"char(4)", "text", false},    // trailing blanks must be removed
		{"numeric(8,2)", "numeric(10,2)", true},
		{"numeric(10,2)", "numeric(8,2)", false},
		{"numeric(8,2)", "numeric(10,3)", false},
		{"numeric(8,2)", "numeric(30,2)", false}, // 128 bits instead of 64
		{"numeric(8,2)", "numeric", false},
		{"timestamp(3)", "timestamp(4)", true},
		{"timestamp(3)", "timestamp", true},
		{"timestamp", "timestamp(6)", true},
		{"timestamp", "timestamp(5)", false},
		{"timestamp", "timestamptz", false},
		{"int", "bigint", false},
	} {
		column := func(name string) Type {
			typ := testType(t, name)
			if m := typ.Mod - 4; typ.OID == NumericOID && m >= 0 && m>>16 <= 18 {
				return FixedNumeric(uint8(m>>16), uint8(m), true)
			}
			return typ
		}
		from, to := column(c.from), column(c.to)
		if from.Widens(to) != c.want {
			t.Errorf("%s to %s: %t", c.from, c.to, !c.want)
		}
	}
}
