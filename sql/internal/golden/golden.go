package golden

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Read reads a table of testdata: tab-separated, with \t \n \r \\ escaped.
func Read(t testing.TB, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r")
	var rows [][]string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		cols := strings.Split(sc.Text(), "\t")
		for i := range cols {
			cols[i] = unescape.Replace(cols[i])
		}
		rows = append(rows, cols)
	}
	if len(rows) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return rows
}

// Outcome is a result or an error as the tables write it.
func Outcome(s string, err error) string {
	if err == nil {
		return "=" + s
	}
	e := pgerr.From(err)
	out := "!" + string(e.Code) + " " + e.Message
	if e.Detail != "" {
		out += "|D " + e.Detail
	}
	if e.Hint != "" {
		out += "|H " + e.Hint
	}
	return out
}
