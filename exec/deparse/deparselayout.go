package deparse

import "strings"

// fragment is the text of an expression, with what decides whether it needs
// parentheses in a larger one.
type fragment struct {
	s    string
	form form
	op   string    // of formOp: the operator; of formBool: AND, OR, NOT
	arg  *fragment // of formCast: what is cast
}

type form uint8

const (
	formPlain form = iota // a name, a constant, a call: needs none anywhere
	formOp
	formTest // IS NULL and its kin, subqueries
	formBool
	formCast
	formOther // always needs parentheses
)

func plain(s string) fragment { return fragment{s: s} }

// within writes p as a part of a larger expression. Without pretty printing
// every operation has its parentheses already.
func (d *deparser) within(p fragment, of form, op string, left bool) string {
	if d.pretty && !p.stands(of, op, left) {
		return "(" + p.s + ")"
	}
	return p.s
}

// stands reports whether p needs no parentheses as an operand of an expression
// of a form; left says that it is the first operand.
func (p fragment) stands(of form, op string, left bool) bool {
	switch p.form {
	case formPlain:
		return true
	case formCast:
		return p.arg.stands(of, op, left)
	case formOp:
		in, out := precedence(p.op), precedence(op)
		switch {
		case of == formBool:
			return true
		case of != formOp || in == 0 || out == 0:
			return false
		case in == out:
			return left
		}
		return in > out
	case formTest:
		return of == formBool
	case formOther:
		return false
	}
	return of == formBool && (op == "OR" || op == "AND" && p.op != "OR")
}

func precedence(op string) int {
	switch op {
	case "+", "-":
		return 1
	case "*", "/", "%":
		return 2
	}
	return 0
}

// enclose puts the parentheses around an operation that it always has unless
// printing is pretty.
func (d *deparser) enclose(s string, f form, op string) fragment {
	if !d.pretty {
		s = "(" + s + ")"
	}
	return fragment{s: s, form: f, op: op}
}

// Indentation, in blanks, as in PostgreSQL's ruleutils.c.
const (
	indentClause = 8
	indentJoin   = 4
	indentItem   = 4
	indentLimit  = 40
)

// newline marks the end of a line until all is written. No SQL text contains it, so that lines
// can strip the blanks before a line's end and leave alone those before a newline within a
// constant.
const newline = "\x00"

// line begins a line with a word. The level changes by before, then the line is
// indented by it and by plus, then it changes by after.
func (d *deparser) line(word string, before, after, plus int) string {
	d.indent += before
	n := max(d.indent, 0)
	if n >= indentLimit {
		n = (indentLimit + (n-indentLimit)/(indentClause/2)) % indentLimit
	}
	d.indent = max(d.indent+after, 0)
	return newline + strings.Repeat(" ", n+plus) + word
}

// lines returns the text with its line ends, without blanks before them.
func lines(s string) string {
	parts := strings.Split(s, newline)
	for i := range parts[:len(parts)-1] {
		parts[i] = strings.TrimRight(parts[i], " ")
	}
	return strings.Join(parts, "\n")
}
