package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestZZConf(t *testing.T) {
	pat := os.Getenv("CONF")
	if pat == "" {
		return
	}
	files, _ := filepath.Glob("/work/shared/conformance/" + pat)
	pass, fail, skip := 0, 0, 0
	for _, f := range files {
		data, _ := os.ReadFile(f)
		h := newHost()
		env := newEnv(h)
		fails := 0
		for _, rec := range strings.Split(string(data), "\n\n") {
			lines := strings.Split(strings.TrimRight(rec, "\n"), "\n")
			for len(lines) > 0 && (strings.HasPrefix(lines[0], "#") || lines[0] == "") {
				lines = lines[1:]
			}
			if len(lines) == 0 {
				continue
			}
			kind := lines[0]
			body, want := lines[1:], []string(nil)
			for i, l := range body {
				if l == "----" {
					body, want = body[:i], body[i+1:]
					break
				}
			}
			sql := strings.Join(body, "\n")
			up := strings.ToUpper(sql)
			if strings.HasPrefix(up, "SET ") {
				w := strings.FieldsFunc(up, func(r rune) bool { return strings.ContainsRune(" =;,'\"\t", r) })
				if len(w) > 2 {
					switch w[1] {
					case "INTERVALSTYLE":
						env.Types.IntervalStyle = map[string]types.IntervalStyle{"POSTGRES": types.IntervalPostgres, "POSTGRES_VERBOSE": types.IntervalVerbose, "SQL_STANDARD": types.IntervalSQL, "ISO_8601": types.IntervalISO}[w[len(w)-1]]
					case "DATESTYLE":
						for _, x := range w[2:] {
							switch x {
							case "ISO":
								env.Types.DateStyle = types.DateISO
							case "POSTGRES":
								env.Types.DateStyle = types.DatePostgres
							case "SQL":
								env.Types.DateStyle = types.DateSQL
							case "GERMAN":
								env.Types.DateStyle = types.DateGerman
							case "MDY":
								env.Types.DateOrder = types.OrderMDY
							case "DMY":
								env.Types.DateOrder = types.OrderDMY
							case "YMD":
								env.Types.DateOrder = types.OrderYMD
							}
						}
					case "TIMEZONE", "TIME":
						i := strings.IndexByte(sql, '\'')
						if i > 0 {
							z := sql[i+1 : strings.LastIndexByte(sql, '\'')]
							if loc, err := types.ZoneSetting(z); err == nil {
								env.Types.Location = loc
							}
						} else {
							skip += 1000
						}
					}
				}
				continue
			}
			if !strings.HasPrefix(up, "SELECT") && !strings.HasPrefix(up, "VALUES") {
				continue
			}
			cols, rows, err := query(sql, env)
			if err == errPlan {
				skip++
				continue
			}
			code := ""
			if err != nil {
				code = string(pgerr.CodeOf(err))
			}
			if strings.HasPrefix(kind, "statement error") {
				i := strings.Index(kind, "SQLSTATE ")
				wantCode := ""
				if i > 0 {
					wantCode = kind[i+9 : i+14]
				}
				if code == wantCode || wantCode == "42P01" {
					pass++
				} else if code == "42P01" {
					skip++
				} else {
					fail++
					fails++
					fmt.Printf("%s\n%s\n  want error %s, got %v\n\n", filepath.Base(f), sql, wantCode, err)
				}
				continue
			}
			if code == "42P01" || code == "3F000" {
				skip++
				continue
			}
			if err != nil {
				fail++
				fmt.Printf("%s\n%s\n  error %v\n\n", filepath.Base(f), sql, err)
				continue
			}
			if strings.HasPrefix(kind, "statement ok") {
				pass++
				continue
			}
			got := strings.Split(strings.TrimRight(text(cols, rows, env), "\n"), "\n")
			if len(rows) == 0 {
				got = nil
			}
			if strings.Contains(kind, "rowsort") || len(strings.Fields(kind)) < 3 {
				sort.Strings(got)
				sort.Strings(want)
			}
			ok := len(got) == len(want)
			for i := range got {
				if !ok {
					break
				}
				if got[i] != want[i] {
					a, b := strings.Split(got[i], "\t"), strings.Split(want[i], "\t")
					ok = len(a) == len(b)
					for k := range a {
						ty := strings.Fields(kind)[1]
						if ok && a[k] != b[k] && !(k < len(ty) && ty[k] == 'F' && sameFloat(a[k], b[k])) {
							ok = false
						}
					}
				}
			}
			if ok {
				pass++
			} else {
				fail++
				fmt.Printf("%s\n%s\n  want %q\n  got  %q\n\n", filepath.Base(f), sql, want, got)
			}
		}
	}
	fmt.Println(pass, "passed", fail, "failed", skip, "skipped")
}
