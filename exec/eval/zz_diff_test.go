package eval_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var samples = map[string][]string{
	"bool": {"true", "false"}, "int2": {"0", "1", "-1", "7", "32767", "-32768", "100"},
	"int4": {"0", "1", "-1", "2", "3", "5", "10", "2147483647", "-2147483648", "100"},
	"int8":    {"0", "1", "-1", "5", "12345678901", "9223372036854775807", "-9223372036854775808"},
	"float4":  {"0", "1.5", "-2.25", "1e10", "NaN", "Infinity", "-Infinity", "1e-30", "3.4e38", "0.1"},
	"float8":  {"0", "1", "0.5", "-0.5", "1.5", "-2.25", "1e10", "NaN", "Infinity", "-Infinity", "1e-300", "1.7e308", "2.5", "45", "0.1", "30"},
	"numeric": {"0", "1", "-1", "1.50", "0.001", "123456789012345678901234567890.123", "-99.99", "NaN", "Infinity", "-Infinity", "10", "2", "3.7", "1e-20"},
	"text":    {"", "a", "abc", "Hello World", "héllo wörld", "  pad  ", "a,b,c", "%b%", "_b_", "123", "^a.*", "日本語", "A", "x-y_z", "abcabc", "(b|c)+", `a\`, "year", "month", "hex", "escape", "base64", "f"},
	"varchar": {"abc", "", "héllo"}, "bpchar": {"abc", "ab  ", ""}, "name": {"abc", "Foo"}, "char": {"a", ""},
	"bytea":       {`\x`, `\x00ff10`, `abc`, `\xdeadbeef`},
	"date":        {"2024-02-29", "1999-12-31", "infinity", "-infinity", "0001-01-01 BC", "1970-01-01", "2001-09-11"},
	"time":        {"00:00:00", "23:59:59.999999", "12:34:56.789", "24:00:00"},
	"timetz":      {"00:00:00+00", "23:59:59-08", "12:34:56.5+05:30"},
	"timestamp":   {"2024-02-29 12:34:56.789", "1999-12-31 23:59:59.999999", "infinity", "-infinity", "0044-03-15 01:02:03 BC", "1970-01-01", "2001-09-11 08:46:00"},
	"timestamptz": {"2024-02-29 12:34:56.789+02", "1999-12-31 23:59:59.999999", "infinity", "-infinity", "1970-01-01", "2001-09-11 08:46:00-04"},
	"interval":    {"0", "1 day", "1 mon -3 days 04:05:06.7", "-1 year 2 mons", "36:00:00", "1 week", "-00:00:01.5", "14 mons 40 days 30:00:00"},
	"uuid":        {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"},
	"json":        {`{"a":1,"b":[1,2,{"c":null}]}`, `[1,"x",null]`, `"str"`, `null`, `1.50`, `{}`, `[]`, `{"a": {"b": "c"}, "d": true}`},
	"jsonb":       {`{"a":1,"b":[1,2,{"c":null}]}`, `[1,"x",null]`, `"str"`, `null`, `1.50`, `{}`, `[]`, `{"a": {"b": "c"}, "d": true}`},
	"int4[]":      {"{}", "{1,2,3}", "{3,NULL,1}", "{5}"}, "text[]": {"{}", "{a,b}", "{a,NULL}", "{b,2,c}", `{"a b","c,d"}`}, "float8[]": {"{0,0,0}", "{3,6,2}", "{1,2,0,3,0,0}"},
	"oid": {"0", "16", "4294967295"}, "bit": {"101", "0", "1111"}, "varbit": {"101", "", "0110"},
	"anyelement": {"1::int4", "'abc'::text", "1.5::numeric", "true", "'2024-01-01'::date", "'[1]'::json", "array[1,2]", "'2024-01-01 10:00:00+00'::timestamptz", "row(1,'a')"},
	"anynonarray": {"1::int4", "1.5::numeric", "true"}, "anyarray": {"'{}'::int4[]", "array[1,2,3]", "array['a',null,'c']", "array[1.5,2.5]"},
	"any": {"1::int4", "'abc'::text", "1.5::numeric", "true", "null::int4", "'2024-01-01'::date"}, "record": {"row(1,'a'::text)", "row(1,'b'::text)", "row(null::int4,'a'::text)"},
	"xid": {"5"}, "regclass": nil,
	"anycompatible": {"1", "2::int8", "'a'::text", "1.5"}, "anycompatiblearray": {"array[1,2,3]", "array['a','b']", "array[1.5,null]"},
}

func typName(o types.OID) string {
	for n, p := range map[string]types.OID{"any": types.AnyOID, "anyelement": types.AnyElementOID, "anyarray": types.AnyArrayOID, "anynonarray": types.AnyNonArrayOID,
		"anycompatible": types.AnyCompatibleOID, "anycompatiblearray": types.AnyCompatibleArrayOID, "record": types.RecordOID} {
		if p == o {
			return n
		}
	}
	if e, ok := (types.Type{OID: o}).Elem(); ok && o != types.Int2VectorOID && o != types.OIDVectorOID {
		return typName(e.OID) + "[]"
	}
	p, _ := types.PgTypeOf(o)
	return p.Name
}

func TestZZDiff(t *testing.T) {
	switch os.Getenv("DIFF") {
	case "gen":
		rng := rand.New(rand.NewPCG(7, 7))
		out, _ := os.Create("/tmp/evalpg/diff.sql")
		defer out.Close()
		seen := map[string]bool{}
		pick := func(ty string) (string, bool) {
			s := samples[ty]
			if len(s) == 0 {
				return "", false
			}
			v := s[rng.IntN(len(s))]
			if rng.IntN(25) == 0 {
				v = "NULL"
			}
			if strings.HasPrefix(ty, "any") || ty == "record" {
				return v, true
			}
			q := ty
			if ty == "char" {
				q = `"char"`
			}
			if v == "NULL" {
				return "NULL::" + q, true
			}
			return "'" + strings.ReplaceAll(v, "'", "''") + "'::" + q, true
		}
		for _, f := range fn.All() {
			if f.Kind != fn.Scalar && f.Kind != fn.SetReturning || f.Vol == fn.Volatile {
				continue
			}
			bad := strings.HasPrefix(f.Name, "pg_") || strings.HasPrefix(f.Name, "has_") || strings.HasPrefix(f.Name, "to_reg") || strings.Contains(f.Name, "statement_timestamp") || strings.HasPrefix(f.Name, "enum_")
			switch f.Name {
			case "now", "transaction_timestamp", "version", "current_user", "session_user", "current_database", "random", "nextval", "currval", "setval", "current_setting", "current_schemas", "current_schema", "txid_current", "txid_current_if_assigned", "age", "regclass", "set_config":
				bad = f.Name != "age" || len(f.Args) != 2
			}
			if bad {
				continue
			}
			n := 30
			if len(f.Args) == 0 {
				n = 1
			}
			if len(f.Args) == 1 {
				n = 20
			}
			for range n {
				args := []string{}
				ok := true
				for i := range f.Args {
					a, have := pick(typName(f.ArgType(i)))
					ok = ok && have
					args = append(args, a)
				}
				if f.Variadic != 0 && rng.IntN(2) == 0 {
					if a, have := pick(typName(f.ArgType(len(f.Args)))); have {
						args = append(args, a)
					}
				}
				if !ok {
					break
				}
				name := f.Name
				switch name {
				case "char", "bit", "time", "timestamp", "interval", "varchar", "numeric", "bpchar", "timetz", "timestamptz", "name", "text", "overlaps", "overlay", "position", "substring", "normalize", "extract", "like", "float4", "float8", "int4", "int2", "int8", "varbit", "left", "right", "notlike", "is_normalized", "bool", "date", "json_object":
					name = `pg_catalog."` + name + `"`
				}
				q := name + "(" + strings.Join(args, ", ") + ")"
				if !seen[q] {
					seen[q] = true
					fmt.Fprintln(out, q)
				}
			}
		}
		for _, o := range fn.AllOperators() {
			if o.Left == 0 {
				for range 6 {
					if a, ok := pick(typName(o.Right)); ok {
						fmt.Fprintf(out, "%s (%s)\n", o.Name, a)
					}
				}
				continue
			}
			for range 12 {
				a, ok := pick(typName(o.Left))
				b, ok2 := pick(typName(o.Right))
				if ok && ok2 {
					fmt.Fprintf(out, "(%s) %s (%s)\n", a, o.Name, b)
				}
			}
		}
		casts := map[string]bool{}
		for f := range samples {
			for g := range samples {
				if strings.HasPrefix(f, "any") || strings.HasPrefix(g, "any") || f == "record" || g == "record" || strings.HasPrefix(f, "reg") || strings.HasPrefix(g, "reg") || f == "xid" || g == "xid" {
					continue
				}
				for range 5 {
					a, _ := pick(f)
					to := g
					if g == "char" {
						to = `"char"`
					}
					switch rng.IntN(4) {
					case 0:
						switch g {
						case "varchar", "bpchar", "bit", "varbit":
							to += "(3)"
						case "numeric":
							to += "(6,2)"
						case "timestamp", "time", "timestamptz", "interval":
							to += "(2)"
						}
					}
					q := a + "::" + to
					if !casts[q] {
						casts[q] = true
					}
				}
			}
		}
		for q := range casts {
			fmt.Fprintln(out, q)
		}
	case "cmp":
		in, _ := os.Open("/tmp/evalpg/diff.out")
		sc := bufio.NewScanner(in)
		sc.Buffer(nil, 1<<24)
		h := newHost()
		env := newEnv(h)
		pass, fail := 0, 0
		kinds := map[string]int{}
		for sc.Scan() {
			q, want, ok := strings.Cut(sc.Text(), "\x01")
			if !ok {
				continue
			}
			want = strings.TrimSpace(want)
			func() {
				defer func() {
					if r := recover(); r != nil {
						fmt.Printf("PANIC %s: %v\n", q, r)
						fail++
					}
				}()
				t0 := time.Now()
				cols, rows, err := query("SELECT "+q, env)
				if d := time.Since(t0); d > 300*time.Millisecond {
					fmt.Println("SLOW", d, q)
				}
				var got string
				if err != nil {
					got = "ERR " + string(pgerr.CodeOf(err))
				} else {
					var parts []string
					for _, r := range rows {
						if r[0] == nil {
							parts = append(parts, "NULL")
							continue
						}
						s := types.TextOf(cols[0].Type, r[0], env.Types)
						if cols[0].Type.OID == types.BoolOID {
							s = map[string]string{"t": "true", "f": "false"}[s]
						}
						parts = append(parts, s)
					}
					got = strings.Join(parts, "|")
				}
				got = strings.TrimSpace(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(got))
				if got == want || sameFloat(got, want) {
					pass++
					return
				}
				fail++
				k := q
				if i := strings.IndexByte(q, '('); i > 0 {
					k = q[:i]
				}
				kinds[k]++
				if kinds[k] <= 4 {
					fmt.Printf("%s\n   want %s\n   got  %s (%v)\n", q, want, got, err)
				}
			}()
		}
		fmt.Println(pass, "passed", fail, "failed")
	}
}
