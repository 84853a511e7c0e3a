package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// branch is an \if that has no \endif yet.
type branch struct {
	outer  bool // what stands around it runs
	active bool // its present part runs
	taken  bool // some part of it has run
	last   bool // it is at its \else
}

// active reports whether what is read runs, or stands in a part of an \if that does not.
func (s *session) active() bool {
	return len(s.branches) == 0 || s.branches[len(s.branches)-1].active
}

// conditionals are the \commands that are obeyed also where nothing else is.
var conditionals = []string{"if", "elif", "else", "endif"}

func ifCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	b := branch{outer: s.active()}
	var err error
	b.active, err = s.condition(a, b.outer)
	b.taken = b.active
	s.branches = append(s.branches, b)
	return err
}

func elifCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	b, err := s.innermost("elif")
	if err != nil {
		a.skip()
		return err
	}
	if b.last {
		return errors.New(`\elif: cannot occur after \else`)
	}
	b.active, err = s.condition(a, b.outer && !b.taken)
	b.taken = b.taken || b.active
	return err
}

func elseCommand(s *session, _ context.Context, _ *splitter, _ *arguments) error {
	b, err := s.innermost("else")
	if err != nil {
		return err
	}
	if b.last {
		return errors.New(`\else: cannot occur after \else`)
	}
	b.active, b.taken, b.last = b.outer && !b.taken, true, true
	return nil
}

func endifCommand(s *session, _ context.Context, _ *splitter, _ *arguments) error {
	if _, err := s.innermost("endif"); err != nil {
		return err
	}
	s.branches = s.branches[:len(s.branches)-1]
	s.skipped = splitter{}
	return nil
}

func (s *session) innermost(command string) (*branch, error) {
	if len(s.branches) == 0 {
		return nil, fmt.Errorf(`\%s: no matching \if`, command)
	}
	return &s.branches[len(s.branches)-1], nil
}

// condition reads the truth of the arguments, which are resolved only where it counts.
func (s *session) condition(a *arguments, counts bool) (bool, error) {
	if !counts {
		a.skip()
		return false, nil
	}
	text := strings.Join(a.all(), " ")
	switch w := strings.ToLower(text); {
	case slices.Contains(yes, w):
		return true, nil
	case slices.Contains(no, w):
		return false, nil
	}
	return false, fmt.Errorf(`unrecognized value %q for "\if expression": Boolean expected`, text)
}

// skip passes over the arguments and runs nothing of them.
func (a *arguments) skip() {
	var sp splitter
	full := a.rest + "\n"
	for i := 0; i < len(a.rest); {
		if a.rest[i] == '\\' && !sp.quoted() {
			a.rest = a.rest[i:]
			return
		}
		i += sp.token(full[i:])
	}
	a.rest = ""
}
