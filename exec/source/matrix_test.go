package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// call is a source function call as an argument of another.
func call(name string, args ...plan.Arg) plan.Arg { return plan.Arg{Call: name, Args: args} }

// TestMatrixViews compares chains of views of matrices with the same steps on a matrix in memory,
// in any number of splits.
func TestMatrixViews(t *testing.T) {
	s := New(nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		dist := []string{"uniform", "normal"}[r.IntN(2)]
		rows, cols := 1+r.IntN(9000), 1+r.IntN(5)
		if r.IntN(2) == 0 {
			rows, cols = 1+r.IntN(12), 1+r.IntN(40)
		}
		base := []plan.Arg{arg("rows", rows), arg("cols", cols), arg("seed", 7), arg("distribution", dist)}
		m := [][]string{}
		for _, line := range read(t, s, src(t, s, "random_matrix", base), 1) {
			m = append(m, strings.Split(line, "|"))
		}
		name, args, told := "random_matrix", base, fmt.Sprintf("%s %d × %d", dist, rows, cols)
		for range 1 + r.IntN(3) {
			inner := call(name, args...)
			switch r.IntN(3) {
			case 0:
				name, args, m = "transpose", []plan.Arg{inner}, transposed(m)
				told += ", transpose"
			case 1:
				var flat []string
				for _, row := range m {
					flat = append(flat, row...)
				}
				k := 1 + r.IntN(30)
				for len(flat)%k != 0 {
					k--
				}
				name, args = "reshape", []plan.Arg{inner, arg("rows", -1), arg("cols", k)}
				m = nil
				for from := 0; from < len(flat); from += k {
					m = append(m, flat[from:from+k])
				}
				told += fmt.Sprintf(", reshape to %d", k)
			case 2:
				rs, at := randomRange(r, len(m))
				cs, of := randomRange(r, len(m[0]))
				var cut [][]string
				for _, i := range at {
					var row []string
					for _, j := range of {
						row = append(row, m[i][j])
					}
					cut = append(cut, row)
				}
				if len(cut) == 0 || len(cut[0]) == 0 {
					continue
				}
				name, args, m = "slice", []plan.Arg{inner, arg("rows", rs), arg("", cs)}, cut
				args[2].Name = "cols"
				told += fmt.Sprintf(", slice [%s, %s]", rs, cs)
			}
		}
		if len(m[0]) > maxFileColumns || name == "random_matrix" {
			continue
		}
		p := src(t, s, name, args)
		if len(p.Cols) != len(m[0]) || p.Rows != float64(len(m)) {
			t.Fatalf("%s: %v rows of %d columns, not %d of %d", told, p.Rows, len(p.Cols), len(m), len(m[0]))
		}
		for _, of := range []int{1, 3} {
			got := read(t, s, p, of)
			for i, row := range m {
				if i >= len(got) || got[i] != strings.Join(row, "|") {
					t.Fatalf("%s in %d splits: row %d is not %v", told, of, i, row)
				}
			}
		}
	}
}

func transposed(m [][]string) [][]string {
	out := make([][]string, len(m[0]))
	for j := range out {
		for i := range m {
			out[j] = append(out[j], m[i][j])
		}
	}
	return out
}

// randomRange returns a slice in Python's notation (start:stop:step) and the positions that it
// selects among n, found one at a time.
func randomRange(r *rand.Rand, n int) (string, []int) {
	start, stop, step := r.IntN(2*n+4)-n-2, r.IntN(2*n+4)-n-2, []int{1, 1, 2, 3, -1, -2}[r.IntN(6)]
	text, from, to := "", start, stop
	if r.IntN(3) > 0 {
		text += fmt.Sprint(start)
		if from < 0 {
			from += n
		}
	} else if from = 0; step < 0 {
		from = n - 1
	}
	text += ":"
	if r.IntN(3) > 0 {
		text += fmt.Sprint(stop)
		if to < 0 {
			to = max(-1, to+n)
		}
	} else if to = n; step < 0 {
		to = -1
	}
	if step != 1 || r.IntN(2) == 0 {
		text += fmt.Sprintf(":%d", step)
	}
	if step > 0 {
		from = max(from, 0)
	} else {
		from = min(from, n-1)
	}
	var at []int
	for i := from; i >= 0 && i < n && (step > 0 && i < to || step < 0 && i > to); i += step {
		at = append(at, i)
	}
	return text, at
}

// TestMatrixOfBillions reads ten thousand cells of a billion: the others are never computed, or the
// test would not end.
func TestMatrixOfBillions(t *testing.T) {
	s := New(nil)
	m := call("transpose", call("reshape", call("random_matrix", arg("rows", 100_000), arg("cols", 10_000)), arg("rows", 10_000), arg("cols", 100_000)))
	rows := read(t, s, src(t, s, "slice", []plan.Arg{m, arg("rows", ":10"), arg("cols", ":1000")}), 1)
	if len(rows) != 10 {
		t.Fatalf("%d rows", len(rows))
	}
	// Cell (i, j) of the slice is (j, i) of the reshaped matrix, which is row 10j, column
	// i of the first one.
	first := src(t, s, "random_matrix", []plan.Arg{arg("rows", 10_000), arg("cols", 10)})
	whole := read(t, s, first, 1)
	for i, row := range rows {
		for j, cell := range strings.Split(row, "|") {
			if want := strings.Split(whole[10*j], "|")[i]; cell != want {
				t.Fatalf("cell %d, %d is %s, not %s", i, j, cell, want)
			}
		}
	}
}

func TestBadMatrices(t *testing.T) {
	s := New(nil)
	base := call("random_matrix", arg("rows", 4), arg("cols", 6))
	for _, c := range []struct {
		name string
		args []plan.Arg
		code pgerr.Code
		text string
	}{
		{"transpose", nil, pgerr.InvalidParameterValue, "must be random_matrix"},
		{"transpose", []plan.Arg{arg("", 1)}, pgerr.InvalidParameterValue, "must be random_matrix"},
		{"transpose", []plan.Arg{call("make_blobs")}, pgerr.FeatureNotSupported, "transpose of make_blobs"},
		{"make_blobs", []plan.Arg{call("random_matrix")}, pgerr.FeatureNotSupported, "cannot be a call of random_matrix"},
		{"transpose", []plan.Arg{call("random_matrix", arg("rowz", 1))}, pgerr.InvalidParameterValue, "random_matrix has no argument named"},
		{"transpose", []plan.Arg{call("random_matrix", arg("rows", 100_000))}, pgerr.TooManyColumns, "100000 columns"},
		{"transpose", []plan.Arg{call("random_matrix", arg("rows", 0))}, pgerr.TooManyColumns, "0 columns"},
		{"random_matrix", []plan.Arg{arg("cols", 1601)}, pgerr.TooManyColumns, "1601 columns"},
		{"reshape", []plan.Arg{base}, pgerr.InvalidParameterValue, "must be given"},
		{"reshape", []plan.Arg{base, arg("rows", 5), arg("cols", 5)}, pgerr.InvalidParameterValue, "cannot reshape"},
		{"reshape", []plan.Arg{base, arg("rows", 5)}, pgerr.InvalidParameterValue, "cannot reshape"},
		{"reshape", []plan.Arg{base, arg("rows", 0), arg("cols", -1)}, pgerr.InvalidParameterValue, "cannot reshape"},
		{"slice", []plan.Arg{base, arg("rows", 3)}, pgerr.InvalidParameterValue, "must be a range"},
		{"slice", []plan.Arg{base, arg("rows", "1:2:0")}, pgerr.InvalidParameterValue, "is no range"},
		{"slice", []plan.Arg{base, arg("rows", "a:")}, pgerr.InvalidParameterValue, "is no range"},
		{"slice", []plan.Arg{base, arg("cols", "6:")}, pgerr.TooManyColumns, "0 columns"},
		{"slice", []plan.Arg{call("random_matrix", arg("rows", 1<<40), arg("cols", 1<<30))}, pgerr.InvalidParameterValue, "2^62 cells"},
	} {
		_, err := s.Source(context.Background(), c.name, c.args, Reader{})
		if e, ok := err.(*pgerr.Error); !ok || e.Code != c.code || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s%v: %v", c.name, c.args, err)
		}
	}
}
