package main

import (
	"fmt"
	"strings"
)

// Pieces of string constants: ordinary ones first, then those at which a constant is
// refused or means something else.
var (
	escapes = []string{"a", "é", "日", `\xc3\xa9`, `\303\251`, `\x41`, `\101`, `\u00e9`, `\U0001F600`, `\ud83d\ude00`, `\xe6\x97\xa5`, `\xf0\x9f\x98\x80`, `\\`, `\'`, "''", `\n`, `\t`, `\q`, `\x4`, `\7`,
		`\xff`, `\x00`, `\000`, `\0`, `\ud800`, `\ude00`, `\u0000`, `\U00110000`, `\xed\xa0\x80`, `\xf4\x90\x80\x80`, `\xc0\x80`, `\xc3`, `\u12`, `\x`, `\8`, `\400`, `\777`, `\xc3é`, `\ud83da`, `\U0000d83d\U0000de00`}
	unicodes = []string{"a", "é", `\00e9`, `\+01F600`, `\d83d\de00`, `\\`, "''", `\0041`, `\65e5`, "!00e9", `!+01F600`,
		`\0000`, `\d800`, `\de00`, `\+110000`, `\00`, `\+00`, `\`, "!", `\+00d83d\+00de00`, `\xyz1`}
	jsons = []string{"a", "é", `\u00e9`, `\n`, `\"`, `\\`, `\/`, `\ud83d\ude00`, `\u0041`, `1`,
		`\u0000`, `\ud800`, `\ude00`, `\ud800a`, `\x`, `\u12`, "\t", `\ud83d\u0041`, `"`, `\\u0000`}
	encodings = []string{"UTF8", "LATIN1", "utf-8", "SQL_ASCII", "WIN1252", "LATIN9", "KOI8R", "EUC_JP", "SJIS", "BIG5", "nonsense", ""}
	codes     = []string{"65", "233", "127", "128", "26085", "128512", "2047", "2048", "65535", "65536", "55295", "57344", "1114111", "0", "-1", "55296", "57343", "1114112", "2147483647", "-2147483648"}
	hexes     = []string{"", "61", "c3a9", "e697a5", "f09f9880", "6100", "ff", "c3", "eda080", "f4908080", "c080", "00", "80", "e697", "8140", "a4a2", "5c", "27", "7fff"}
	stringUse = []string{"%s", "%s", "length(%s)", "octet_length(%s)", "bit_length(%s)", "upper(%s)", "lower(%s)", "initcap(%s)", "reverse(%s)", "ascii(%s)", "md5(%s)", "convert_to(%s, 'UTF8')", "convert_to(%s, 'LATIN1')", "(%s)::bytea",
		"quote_literal(%s)", "quote_ident(%s)", "to_json((%s)::text)::text", "to_jsonb((%s)::text)", "left(%s, 1)", "right(%s, -1)", "substr(%s, 2, 1)", "lpad(%s, 5, 'é')", "rpad(%s, 2)", "translate(%s, 'é', 'e')", "overlay(%s placing 'x' from 1)",
		"position('é' in %s)", "(%s)::char(3)", "(%s)::varchar(2)", "(%s)::name", "(%s) < 'é'", "format('%%I %%L', %[1]s, %[1]s)", "string_to_array(%s, NULL)", "regexp_replace(%s, '.', '<\\&>', 'g')", "unistr(%s)", "(%s) LIKE '_'",
		"concat_ws('é', %[1]s, %[1]s)", "split_part(%s, 'a', 1)", "encode(convert_to(%s, 'UTF8'), 'escape')", "array[%s]", "row(%s)::text", "(%s)::json ->> 'a'", "regexp_split_to_array(%s, '')", "strpos(%s, 'a')", "hashtext(%s)", "sha256((%s)::bytea)",
		"repeat(%s, 2)", "btrim(%s, 'aé')", "starts_with(%s, 'é')", "string_agg(%s, 'é')", "(%s)::integer", "decode(%s, 'escape')", "decode(%s, 'hex')", "decode(%s, 'base64')"}
)

// common picks from a list whose first half is ordinary.
func (g *generator) common(list []string) string {
	if g.chance(75) {
		return g.pick(list[:(len(list)+1)/2])
	}
	return g.pick(list)
}

func (g *generator) pieces(list []string) string {
	var b strings.Builder
	for range 1 + g.r.IntN(4) {
		b.WriteString(g.common(list))
	}
	return b.String()
}

// strings returns a trial of constants and conversions of text and bytes.
func (g *generator) strings(peer bool) trial {
	t := trial{kind: "peer", after: []string{"RESET standard_conforming_strings", "RESET bytea_output"}}
	if !peer {
		t.kind, t.knob = "settings", g.pick(knobs)
	}
	if g.chance(5) {
		t.parts = append(t.parts, g.pick([]string{"SET standard_conforming_strings = off", "SET bytea_output = 'escape'"}))
	}
	switch g.r.IntN(30) {
	case 0: // bytes that are no text, in the statement itself
		t.parts = append(t.parts, "SELECT 'a"+g.pick([]string{"\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\xe6\x97", "é"})+"'")
	case 1: // and in a parameter
		return trial{kind: t.kind, knob: t.knob, parts: []string{"SELECT length($1::text), $1::text"}, extended: true, binary: g.chance(50),
			params: []param{{text: g.pick([]string{"\xff", "a\x00b", "\xc3", "é", "\xed\xa0\x80", "", "\x00"}), oid: 25}}}
	case 2:
		name := "U&\"" + g.pieces([]string{"a", "é", `\00e9`, `\+01F600`, `\0061`, `\0000`, `\d800`}) + `"`
		t.parts = append(t.parts, "SELECT 1 AS "+name+g.pick([]string{"", "", " UESCAPE '!'"}))
	case 3:
		t.parts = append(t.parts, "SELECT k, v FROM "+g.pick([]string{"json", "jsonb"})+"_each_text("+g.jsonConstant()+") q(k, v)")
	default:
		items := make([]string, 1+g.r.IntN(2))
		for i := range items {
			items[i] = g.stringItem()
		}
		t.parts = append(t.parts, "SELECT "+strings.Join(items, ", "))
	}
	return t
}

func (g *generator) jsonConstant() string {
	text := `{"` + g.pick([]string{"a", "a", "a", `\u0061`, `\u0000`}) + `": "` + g.pieces(jsons) + `"}`
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

func (g *generator) stringItem() string {
	bytes := `'\x` + g.common(hexes) + g.common(hexes) + `'::bytea`
	switch g.r.IntN(12) {
	case 0, 1, 2, 3:
		return fmt.Sprintf(g.pick(stringUse), "E'"+g.pieces(escapes)+"'")
	case 4, 5:
		return fmt.Sprintf(g.pick(stringUse), "U&'"+g.pieces(unicodes)+"'"+g.pick([]string{"", "", "", " UESCAPE '!'", " UESCAPE '+'", " UESCAPE 'a'", " UESCAPE ''"}))
	case 6:
		return fmt.Sprintf(g.pick(stringUse), "chr("+g.common(codes)+")")
	case 7:
		return g.pick([]string{"convert_from(" + bytes + ", '" + g.common(encodings) + "')",
			"convert_to(E'" + g.pieces(escapes) + "', '" + g.common(encodings) + "')"})
	case 8:
		return "decode('" + g.pick([]string{"", "YQ==", "YQ", "Y Q = =", "w6k=", "YQ=", "=", "Y", "****", "6162", "616", "0x61", "6g", `\\`, `a\000`, `\377`, `\400`, `\x61`, `a\`, "é", "w6kK\n"}) + "', '" + g.pick([]string{"hex", "base64", "escape", "HEX", "none"}) + "')"
	case 9:
		return "encode(" + bytes + ", '" + g.pick([]string{"hex", "base64", "escape", "Escape", "utf8"}) + "')"
	default:
		return fmt.Sprintf(g.pick([]string{"%s::json ->> 'a'", "%s::jsonb ->> 'a'", "%s::json::text", "%s::jsonb", "%s::json -> 'a' #>> '{}'", "%s::json::jsonb",
			"json_typeof(%s)", "%s::jsonb #>> '{a}'", "length(%s::json ->> 'a')", "json_strip_nulls(%s)::text", "jsonb_path_query_first(%s, '$.a')", "%s::jsonb @> '{}'", "json_extract_path_text(%s, 'a')"}), g.jsonConstant())
	}
}
