package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tally counts the outcomes of rounds.
type tally struct {
	Round       int // the first round not counted
	Statements  int // sent to the server
	Kinds       map[string]int
	Compared    map[string]int // trials, by how
	Errors      map[string]int // trials, by the server's first error
	Allowed     map[string]int // trials that could not be compared, by why
	Refused     int            // trials that both sides refused
	Differences int
	Internal    int // internal errors
	Deaths      int // connections lost
}

func newTally() tally {
	return tally{Kinds: map[string]int{}, Compared: map[string]int{}, Errors: map[string]int{}, Allowed: map[string]int{}}
}

func (t *tally) add(o tally) {
	t.Statements += o.Statements
	t.Refused += o.Refused
	t.Differences += o.Differences
	t.Internal += o.Internal
	t.Deaths += o.Deaths
	for _, m := range []struct {
		to   *map[string]int
		from map[string]int
	}{{&t.Kinds, o.Kinds}, {&t.Compared, o.Compared}, {&t.Errors, o.Errors}, {&t.Allowed, o.Allowed}} {
		if *m.to == nil {
			*m.to = map[string]int{}
		}
		for name, n := range m.from {
			(*m.to)[name] += n
		}
	}
}

// count adds a trial.
func (t *tally) count(tr trial, found finding) {
	how := tr.kind
	if tr.extended {
		how += ", extended"
	}
	if tr.binary {
		how += ", binary"
	}
	t.Compared[how]++
	for _, r := range tr.requests() {
		t.Statements++
		t.Kinds[kind(r.sql)]++
	}
	if found.code != "" {
		t.Errors[found.code]++
	}
	if found.allowed != "" {
		t.Allowed[found.allowed]++
	}
	if found.refused {
		t.Refused++
	}
	switch {
	case found.failure == "":
	case strings.HasPrefix(found.failure, lostConnection):
		t.Deaths++
	case strings.HasPrefix(found.failure, internalError):
		t.Internal++
	default:
		t.Differences++
	}
}

// kind returns the kind of a statement.
func kind(sql string) string {
	words := strings.FieldsFunc(sql, func(r rune) bool { return r == ' ' || r == '(' })
	if len(words) == 0 {
		return "empty"
	}
	switch words[0] {
	case "CREATE", "ALTER", "DROP":
		if len(words) > 1 {
			return words[0] + " " + words[1]
		}
	}
	return words[0]
}

func (c *campaign) summary() {
	t := c.total
	fmt.Fprintf(c.out, "%s, %d statements in rounds %d to %d, %.0f a second in %s\n", c.o.label(), t.Statements, c.o.From, t.Round, c.rate(),
		time.Since(c.start).Round(time.Second))
	for _, part := range []struct {
		name  string
		count map[string]int
	}{{"statements", t.Kinds}, {"compared by", t.Compared}, {"not compared", t.Allowed}, {"errors", t.Errors}} {
		fmt.Fprintf(c.out, "%s:", part.name)
		for i, name := range slices.Sorted(maps.Keys(part.count)) {
			if i > 0 {
				fmt.Fprint(c.out, ",")
			}
			fmt.Fprintf(c.out, " %s %d", name, part.count[name])
		}
		fmt.Fprintln(c.out)
	}
	fmt.Fprintf(c.out, "refused by both %d, differences %d, internal errors %d, deaths %d\n", t.Refused, t.Differences, t.Internal, t.Deaths)
}

func (c *campaign) state() string { return c.o.label() + ".json" }

// save writes the progress of the run.
func (c *campaign) save() error {
	data, err := json.Marshal(c.total)
	if err != nil {
		return err
	}
	return c.write(c.state(), data)
}

// load restores what save wrote.
func (c *campaign) load() error {
	if c.o.Cases == "" {
		return fmt.Errorf("to resume takes the directory of cases, where the run wrote how far it got")
	}
	data, err := os.ReadFile(filepath.Join(c.o.Cases, c.state()))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &c.total); err != nil {
		return err
	}
	c.next, c.resumed, c.reported = c.total.Round, c.total.Statements, c.total.Statements
	return nil
}
