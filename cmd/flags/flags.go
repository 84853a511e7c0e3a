// Package flags makes flag sets whose help is written as the manual writes it: names of
// more than a letter have two dashes. (One dash is accepted too.)
package flags

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
)

// New returns the flag set of a command; usage is the first text of its help, "" for
// the name alone.
func New(name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	if usage == "" {
		usage = "Usage: tributary " + name + " [flags]\n"
	}
	fs.Usage = func() {
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
