package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	for sf, want := range map[float64]int64{0.001: 1500, 0.01: 15_000, 1: 1_500_000, 10: 15_000_000} {
		z, err := tpchSizes(sf)
		if err != nil || z.orders != want || z.customers%3 != 0 {
			t.Errorf("%v: %+v, %v", sf, z, err)
		}
	}
	for _, sf := range []float64{0, -1, 0.0001, 1.5, 2000} {
		if _, err := tpchSizes(sf); err == nil {
			t.Errorf("scale factor %v was taken", sf)
		}
	}
}

func TestSuppliersOfAPartDiffer(t *testing.T) {
	for _, sf := range []float64{0.001, 0.01, 0.03, 0.5} {
		z, err := tpchSizes(sf)
		if err != nil {
			t.Fatal(err)
		}
		for part := int64(1); part <= z.parts; part++ {
			seen := map[int64]bool{}
			for i := range int64(4) {
				s := z.supplierOf(part, i)
				if s < 1 || s > z.suppliers || seen[s] {
					t.Fatalf("sf %v, part %d: supplier %d of %v", sf, part, s, seen)
				}
				seen[s] = true
			}
		}
	}
}

func TestCompare(t *testing.T) {
	exact := func(rows ...string) answer { return parse(false, rows) }
	approx := func(rows ...string) answer { return parse(true, rows) }
	for _, c := range []struct {
		got, want answer
		same      bool
	}{
		{exact("a,1.50"), exact("a,1.5"), true},
		{exact("a,1.50"), exact("a,1.51"), false},
		{exact("a,0.3333333333333333"), approx("a,0.333333333333333333"), true},
		{exact("a,0.33333"), approx("a,0.333333333333333333"), false},
		{exact("a,1", "b,2"), exact("b,2", "a,1"), true},
		{exact("a,1", "b,2"), exact("a,2", "b,1"), false},
		{exact("a,1"), exact("a,1", "a,1"), false},
		{exact(`a,\N`), exact("a,0"), false},
		{exact(`a,\N`), exact(`a,\N`), true},
		{answer{head: []string{"k", "v"}, approx: []bool{false, false}, rows: [][]cell{{{"b", true}, {"", false}}, {{"b", true}, {"1", true}}, {{"a", true}, {"2", true}}}},
			exact("a,2", "b,1", `b,\N`), true}, // a server's NULL has an empty text; a file's has \N
	} {
		if got := compare(c.got, c.want); (got == checkOK) != c.same {
			t.Errorf("%v and %v: %q", c.got.rows, c.want.rows, got)
		}
	}
}

func parse(approx bool, rows []string) answer {
	a := answer{head: []string{"k", "v"}, approx: []bool{false, approx}}
	for _, r := range rows {
		var row []cell
		for _, v := range strings.Split(r, ",") {
			row = append(row, cell{v, v != null})
		}
		a.rows = append(a.rows, row)
	}
	return a
}

func TestAnswerKeepsItsFile(t *testing.T) {
	dir := t.TempDir()
	a := parse(true, []string{"a,1.5", `b,\N`})
	if err := a.write(dir, "x"); err != nil {
		t.Fatal(err)
	}
	a.rows[1][1].text = "" // a NULL from a server has an empty text, one from a file \N
	if got, err := check(dir, "x", a); err != nil || got != checkOK {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := check(dir, "y", a); err != nil || got == checkOK {
		t.Errorf("no file: %q, %v", got, err)
	}
}

func TestHash(t *testing.T) {
	h := exactHash("a,1.5", "b,2")
	for _, same := range [][]string{{"b,2", "a,1.50"}, {"a,1.5000001", "b,2.00"}} {
		if exactHash(same...) != h {
			t.Errorf("%q has another hash", same)
		}
	}
	for _, other := range [][]string{{"a,1.5"}, {"a,1.6", "b,2"}, {`a,\N`, "b,2"}} {
		if exactHash(other...) == h {
			t.Errorf("%q has the same hash", other)
		}
	}
}

func exactHash(rows ...string) string { return parse(false, rows).hash() }

func TestArguments(t *testing.T) {
	o, names, err := parseArgs([]string{"--sf", "0.01", "tpch", "--queries", "1,6", "--runs", "2"}, io.Discard)
	if err != nil || len(names) != 1 || names[0] != "tpch" || o.SF != 0.01 || len(o.Queries) != 2 || o.Runs != 2 {
		t.Errorf("%+v, %v, %v", o, names, err)
	}
	if o, _, err := parseArgs([]string{"tpch", "--server-pid", "17,18, 19"}, io.Discard); err != nil || !slices.Equal(o.ServerPID, []int{17, 18, 19}) {
		t.Errorf("%v, %v", o.ServerPID, err)
	}
	if _, names, err := parseArgs([]string{"all"}, io.Discard); err != nil || len(names) != len(suites)-4 {
		t.Errorf("all: %v, %v", names, err)
	}
	if _, names, err := parseArgs([]string{"all", "--tpcds", "x", "--loads", "y", "--dir", "z", "--hits", "h", "--queries", "0,99"}, io.Discard); err != nil || len(names) != len(suites) {
		t.Errorf("all with directories: %v, %v", names, err)
	}
	for _, bad := range [][]string{{}, {"tpcds"}, {"loads"}, {"sql"}, {"clickbench"}, {"clickbench", "--hits", "h", "--queries", "43"}, {"tpch", "--queries", "0"}, {"tpch", "--runs", "0"}, {"tpch", "--queries", "23"}, {"tpch", "--queries", "x"}, {"tpch", "--server-pid", "n1"}} {
		if _, _, err := parseArgs(bad, io.Discard); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestCPUTime: the counter grows with the work of a process; a process that is listed twice is counted
// twice.
func TestCPUTime(t *testing.T) {
	if cpuNanos(os.Getpid()) == 0 {
		t.Skip("the operating system does not tell")
	}
	one, two := &run{pids: []int{os.Getpid()}}, &run{pids: []int{os.Getpid(), os.Getpid()}}
	for start := one.cpuTime(); one.cpuTime() < start+0.002; {
	}
	if a, b := one.cpuTime(), two.cpuTime(); b < 2*a {
		t.Errorf("%v of one process, %v of it twice", a, b)
	}
}
