// Package flags makes flag sets whose help is written as the manual writes it: names of
// more than a letter have two dashes. (One dash is accepted too.) Flags may stand before
// and after a command's other arguments.
package flags

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Set is the flag set of a command.
type Set struct {
	*flag.FlagSet
	Text string // the first text of its help
}

// New returns the flag set of a command; usage is the first text of its help, "" for
// the name alone.
func New(name, usage string) *Set {
	if usage == "" {
		usage = "Usage: tributary " + name + " [flags]\n"
	}
	fs := &Set{flag.NewFlagSet(name, flag.ContinueOnError), usage}
	fs.Usage = func() {
		if described != nil {
			*described = fs
			return
		}
		var list bytes.Buffer
		out := fs.Output()
		fs.SetOutput(&list)
		fs.PrintDefaults()
		fs.SetOutput(out)
		fmt.Fprintf(out, "%s\nFlags:\n%s", usage, long.ReplaceAll(list.Bytes(), []byte("  --$1")))
	}
	return fs
}

var long = regexp.MustCompile(`(?m)^  -(\w[\w-]+)`)

// described takes the set that is asked for its help, in place of the help; see Of.
var described **Set

// Of returns the flag set that a command asks for its help when it is run with --help. So
// completion and manual pages are made from the flags that the command has.
func Of(help func()) *Set {
	var found *Set
	described = &found
	defer func() { described = nil }()
	help()
	if found != nil {
		found.SetOutput(io.Discard)
	}
	return found
}

// Parse takes the flags wherever they stand: Args are what is left. Nothing behind the argument "--" is
// a flag.
func (s *Set) Parse(args []string) error {
	var words []string
	for {
		if err := s.FlagSet.Parse(args); err != nil {
			return err
		}
		rest := s.Args()
		if len(rest) == 0 {
			break
		}
		if i := len(args) - len(rest); i > 0 && args[i-1] == "--" {
			words = append(words, rest...)
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	return s.FlagSet.Parse(append([]string{"--"}, words...))
}

// Variable returns the name of the environment variable of a flag. TRIBUTARY_JOIN_SECRET is the secret
// itself, so that the file of it is TRIBUTARY_JOIN_SECRET_FILE.
func Variable(name string) string {
	v := "TRIBUTARY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if name == "join-secret" {
		v += "_FILE"
	}
	return v
}

// Environment sets the flags that were not given from their environment variables, which lookup returns;
// an empty one counts as none.
func (s *Set) Environment(lookup func(string) string) (err error) {
	given := s.Given()
	s.VisitAll(func(f *flag.Flag) {
		if v := lookup(Variable(f.Name)); v != "" && !given[f.Name] && err == nil {
			if err = s.Set(f.Name, v); err != nil {
				err = fmt.Errorf("%s: %w", Variable(f.Name), err)
			}
		}
	})
	return err
}

// Given returns the names of the flags that are set.
func (s *Set) Given() map[string]bool {
	given := map[string]bool{}
	s.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}
