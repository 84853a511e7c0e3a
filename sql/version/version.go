package version

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	// Binary is the version of this program. It is raised by the first change after a release that adds
	// something to layouts, and then stands for all that the next release adds.
	Binary = 2
	// Oldest is the oldest version beside which this program runs, and whose directories it opens.
	Oldest = Binary - 1
)

// previous are the layouts (codec.Layout) of version Oldest.
//
//go:embed previous.txt
var previous string

var known = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(previous) {
		name, parts := Parts(line)
		m[name] = parts
	}
	return m
})

// Parts takes a line of a layout apart: a struct or union, and its fields or kinds.
func Parts(line string) (name string, parts []string) {
	line = strings.TrimSpace(line)
	sep := ", "
	name, rest, ok := strings.Cut(line, ": ")
	if !ok {
		sep = " | "
		name, rest, ok = strings.Cut(line, " = ")
	}
	if !ok {
		return strings.TrimSuffix(line, ":"), nil // a struct without fields
	}
	return name, strings.Split(rest, sep)
}

// Known returns how many fields a struct, or kinds a union, had in version Oldest; ok is false for types
// that it did not have.
func Known(typ string) (n int, ok bool) {
	parts, ok := known()[typ]
	return len(parts), ok
}

// Has reports whether a list of names, such as that of families, had one in version Oldest.
func Has(list, name string) bool { return slices.Contains(known()[list], name) }

// NotFinalized is the refusal of something that the cluster cannot have before it is finalised; what names
// it.
func NotFinalized(what string) *pgerr.Error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s needs cluster version %d, and the cluster is at version %d", what, Binary, Oldest).
		WithHint("When all nodes run the new program, ALTER SYSTEM FINALIZE UPGRADE raises the version.")
}

// Readable returns why this program cannot work on something that a cluster of a finalised version has
// written; nil if it can. What names it.
func Readable(finalized uint32, what string) error {
	switch {
	case finalized > Binary:
		return pgerr.Unsupported("%s has cluster version %d, this program reads versions %d and %d", what, finalized, Oldest, Binary).
			WithHint("Its cluster was upgraded. Start it with a program of that version or the next one.")
	case finalized < Oldest:
		return pgerr.Unsupported("%s has cluster version %d, this program reads versions %d and %d", what, finalized, Oldest, Binary).
			WithHint("Upgrade one version at a time: start it with the program of version %d, run ALTER SYSTEM FINALIZE UPGRADE, and then take this one.", Binary-1)
	}
	return nil
}
