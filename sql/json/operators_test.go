package json

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/internal/golden"
)

func TestJSONGolden(t *testing.T) {
	bad := map[string]int{}
	for _, r := range golden.Read(t, "json.tsv") {
		parse := func(s string) Value {
			v, err := ParseJSONB(s)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		v := parse(r[1])
		var path []string
		if r[2] != "" {
			path = strings.Split(r[2], ",")
		}
		n, _ := strconv.Atoi(r[2])
		var got Value
		var err error
		ok, text := true, ""
		switch r[0] {
		case "get":
			got, ok = v.Get(r[2])
			if raw, found := JSONField(v.String(), r[2]); found != ok || ok && raw != got.String() {
				t.Errorf("scanning %s for %q finds %q", v, r[2], raw)
			}
		case "gettext":
			if got, ok = v.Get(r[2]); ok {
				text, ok = got.Text()
			}
			if ok && text == "" {
				text = " "
			}
		case "index":
			got, ok = v.Index(n)
			if raw, found := JSONBElement(v.String(), n); found != ok || ok && raw != got.String() {
				t.Errorf("scanning %s for %d finds %q", v, n, raw)
			}
		case "path":
			got, ok = pathIn(v, path)
		case "exists":
			text = strconv.FormatBool(Exists(v.String(), r[2]))
		case "contains":
			text = strconv.FormatBool(Contains(v.String(), parse(r[2])))
		case "delete":
			got, err = v.Delete(r[2])
		case "deleteindex":
			got, err = v.DeleteIndex(n)
		case "deletepath":
			got, err = v.DeletePath(EditPath{Steps: path})
		case "concat":
			got = v.Concat(parse(r[2]))
		case "set", "replace":
			got, err = v.Set(EditPath{Steps: path}, parse(r[3]), r[0] == "set")
		case "insert", "insertafter":
			got, err = v.Insert(EditPath{Steps: path}, parse(r[3]), r[0] == "insertafter")
		case "typeof":
			text = v.TypeOf()
		case "strip_nulls":
			got = v.StripNulls()
		case "pretty":
			text = v.Pretty()
		case "array_length":
			n, err = v.ArrayLength()
			text = strconv.Itoa(n)
		}
		if text == "" {
			text = got.String()
		}
		res := golden.Outcome(text, err)
		if !ok {
			res = "NULL"
		}
		if res != r[4] {
			if bad[r[0]]++; bad[r[0]] < 8 {
				t.Errorf("%s %s (%s, %s)\n   got %s\n  want %s", r[0], r[1], r[2], r[3], res, r[4])
			}
		}
	}
}
