package logictest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind is the kind of a record.
type Kind int

const (
	Statement Kind = iota // succeeds, or fails with State
	Query                 // returns Rows
	Let                   // sets the variable Name
)

// Record is one statement and its expected outcome.
type Record struct {
	Line     int      // of its first directive, from 1
	Comments []string // lines before it, and between its directives
	Conn     string   // "" is the first connection
	Skip     []string // engines that skip it
	Only     []string // if any: the only engines that run it
	Kind     Kind
	Name     string // of Let, with its $
	Fails    bool
	State    string // SQLSTATE of the error; "" with Fails: any
	Types    string
	Sorted   bool // rows are compared in any order
	SQL      string
	Rows     []string
}

// For reports whether an engine runs the record.
func (r *Record) For(engine string) bool {
	return !slices.Contains(r.Skip, engine) && (len(r.Only) == 0 || slices.Contains(r.Only, engine))
}

var failure = regexp.MustCompile(`^statement error(?: \(SQLSTATE ([0-9A-Z]{5})\))?$`)

// Parse parses a file. An unknown directive is an error with its line.
func Parse(text string) ([]*Record, error) {
	var out []*Record
	r := &Record{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if r.Line == 0 {
			r.Line = i + 1
		}
		switch {
		case f[0][0] == '#':
			r.Comments = append(r.Comments, line)
			continue
		case len(f) == 2 && f[0] == "connection":
			r.Conn = f[1]
			continue
		case len(f) == 2 && f[0] == "skipif":
			r.Skip = append(r.Skip, f[1])
			continue
		case len(f) == 2 && f[0] == "onlyif":
			r.Only = append(r.Only, f[1])
			continue
		case line == "statement ok":
		case failure.MatchString(line):
			r.Fails, r.State = true, failure.FindStringSubmatch(line)[1]
		case len(f) == 2 && f[0] == "let" && strings.HasPrefix(f[1], "$") && len(f[1]) > 1:
			r.Kind, r.Name = Let, f[1]
		case (len(f) == 2 || len(f) == 3) && f[0] == "query" && strings.Trim(f[1], "IRFBT") == "":
			r.Kind, r.Types = Query, f[1]
			if len(f) == 3 && f[2] != "rowsort" && f[2] != "nosort" {
				return nil, fmt.Errorf("line %d: order %q", i+1, f[2])
			}
			r.Sorted = len(f) == 3 && f[2] == "rowsort"
		default:
			return nil, fmt.Errorf("line %d: %q is no directive", i+1, line)
		}
		at := i + 1
		var sql []string
		for i++; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			sql = append(sql, lines[i])
		}
		if r.SQL = strings.Join(sql, "\n"); r.SQL == "" {
			return nil, fmt.Errorf("line %d: no statement", at)
		}
		if i < len(lines) && lines[i] == "----" {
			if r.Kind != Query {
				return nil, fmt.Errorf("line %d: rows of what is no query", i+1)
			}
			for i++; i < len(lines) && lines[i] != ""; i++ {
				r.Rows = append(r.Rows, lines[i])
			}
		}
		out, r = append(out, r), &Record{}
	}
	if r.Line != 0 && (r.Conn != "" || r.Skip != nil || r.Only != nil) {
		return nil, fmt.Errorf("line %d: nothing follows", r.Line)
	}
	if r.Comments != nil {
		return nil, fmt.Errorf("line %d: a comment stands before its record", r.Line)
	}
	return out, nil
}

// Format writes records as Parse reads them.
func Format(records []*Record) string {
	var b strings.Builder
	for i, r := range records {
		if i > 0 {
			b.WriteString("\n")
		}
		lines := slices.Clone(r.Comments)
		for _, e := range r.Skip {
			lines = append(lines, "skipif "+e)
		}
		for _, e := range r.Only {
			lines = append(lines, "onlyif "+e)
		}
		if r.Conn != "" {
			lines = append(lines, "connection "+r.Conn)
		}
		switch {
		case r.Kind == Let:
			lines = append(lines, "let "+r.Name)
		case r.Kind == Query && r.Sorted:
			lines = append(lines, "query "+r.Types+" rowsort")
		case r.Kind == Query:
			lines = append(lines, "query "+r.Types)
		case r.Fails && r.State != "":
			lines = append(lines, "statement error (SQLSTATE "+r.State+")")
		case r.Fails:
			lines = append(lines, "statement error")
		default:
			lines = append(lines, "statement ok")
		}
		lines = append(lines, r.SQL)
		if r.Kind == Query {
			lines = append(append(lines, "----"), r.Rows...)
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	return b.String()
}
