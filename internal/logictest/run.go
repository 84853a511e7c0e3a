package logictest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Result is an engine's result of one statement.
type Result struct {
	Types   string // a letter a column; "" for statements that return no rows
	Rows    [][]Cell
	State   string // SQLSTATE if it failed
	Message string
}

// Cell is a value as text.
type Cell struct {
	Text string
	Null bool
}

// Conn runs statements one after the other. Its error means that the connection is
// lost; a statement's error is in the result.
type Conn interface {
	Run(ctx context.Context, sql string) (Result, error)
}

// Runner runs records on connections that Open opens by name.
type Runner struct {
	Engine string // for skipif and onlyif
	Open   func(ctx context.Context, name string) (Conn, error)

	conns map[string]Conn
	vars  []variable
}

type variable struct{ name, value string }

// Run runs a record; ran is false where the record is not for this engine.
func (x *Runner) Run(ctx context.Context, r *Record) (res Result, ran bool, err error) {
	if !r.For(x.Engine) {
		return Result{}, false, nil
	}
	c := x.conns[r.Conn]
	if c == nil {
		if c, err = x.Open(ctx, r.Conn); err != nil {
			return Result{}, false, err
		}
		if x.conns == nil {
			x.conns = map[string]Conn{}
		}
		x.conns[r.Conn] = c
	}
	sql := r.SQL
	for _, v := range x.vars {
		sql = strings.ReplaceAll(sql, v.name, v.value)
	}
	if res, err = c.Run(ctx, sql); err != nil {
		return res, true, err
	}
	if r.Kind == Let && res.State == "" {
		if len(res.Rows) != 1 || len(res.Rows[0]) != 1 {
			return res, true, fmt.Errorf("%s: not a single value", r.Name)
		}
		x.set(r.Name, res.Rows[0][0].Text)
	}
	return res, true, nil
}

// set sorts variables by descending length of the name, so that $ab is not $a and b.
func (x *Runner) set(name, value string) {
	x.vars = slices.DeleteFunc(x.vars, func(v variable) bool { return v.name == name })
	x.vars = append(x.vars, variable{name, value})
	slices.SortStableFunc(x.vars, func(a, b variable) int { return len(b.name) - len(a.name) })
}

var escape = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// Lines returns the rows in the format of a test file.
func (res *Result) Lines() []string {
	out := make([]string, len(res.Rows))
	for i, row := range res.Rows {
		var line []string
		for _, c := range row {
			switch {
			case c.Null:
				line = append(line, "NULL")
			case c.Text == "":
				line = append(line, "(empty)")
			default:
				line = append(line, escape.Replace(c.Text))
			}
		}
		out[i] = strings.Join(line, "\t")
	}
	return out
}

// Check compares a result with what its record says, and returns the difference,
// "" if there is none.
func Check(r *Record, res Result) string {
	switch {
	case r.Fails && res.State == "":
		return "it succeeds, and should fail with SQLSTATE " + r.State
	case r.Fails && r.State != "" && r.State != res.State:
		return fmt.Sprintf("SQLSTATE %s: %s\nwant SQLSTATE %s", res.State, res.Message, r.State)
	case !r.Fails && res.State != "":
		return fmt.Sprintf("SQLSTATE %s: %s", res.State, res.Message)
	case r.Kind != Query:
		return ""
	case res.Types != r.Types:
		return fmt.Sprintf("columns of types %q, want %q", res.Types, r.Types)
	}
	got, want := res.Lines(), r.Rows
	if r.Sorted {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	if slices.EqualFunc(got, want, func(a, b string) bool { return same(a, b, r.Types) }) {
		return ""
	}
	return "rows\n" + strings.Join(got, "\n") + "\nwant\n" + strings.Join(want, "\n")
}

const tolerance = 1e-9

// same compares two rows, floats with the tolerance.
func same(a, b, types string) bool {
	if a == b {
		return true
	}
	x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
	if len(x) != len(y) || len(x) != len(types) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && (types[i] != 'F' || !near(x[i], y[i])) {
			return false
		}
	}
	return true
}

func near(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}
