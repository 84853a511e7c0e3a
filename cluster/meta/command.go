package meta

import (
	"slices"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
)

// The commands. A number is never used again for another (1 was a commit with a
// random id); a command of a later version that older nodes may skip has bit 7
// set.
const (
	cmdCommit   = 2
	cmdSkipable = 0x80
)

// CommitID names a commit over retries: number Seq of one life of a gateway.
type CommitID struct {
	// Gateway is the node that proposes, Epoch its life: greater than that of
	// every earlier one.
	Gateway, Epoch uint64
	// Seq numbers the commits of the life from 1. Below Mark none will be
	// proposed again: the machine forgets what became of them, and refuses
	// copies that are still on their way.
	Seq, Mark uint64
}

// commit is the payload of cmdCommit.
type commit struct {
	ID      CommitID
	Changes []catalog.Change
}

// Command is a commit as a log has it. Where its own node applies it, what it was made of
// needs not be read from it again.
type Command struct {
	Bytes []byte
	made  *commit // what Bytes read as; nil: they are read
}

// NewCommand makes the command that applies changes, which nobody may change any more.
func NewCommand(id CommitID, changes []catalog.Change) Command {
	c := Command{Bytes: EncodeCommit(id, changes)}
	if !slices.ContainsFunc(changes, func(x catalog.Change) bool { return !asRead(x) }) {
		c.made = &commit{ID: id, Changes: changes}
	}
	return c
}

// asRead reports whether it is one of the changes that small statements are made of, and which are, to the last nil,
// what reading their encoding gives: the state must not tell a log that was read from one
// that was not. What a file holds is told with more rows at a time, and read.
func asRead(x catalog.Change) bool {
	switch x := x.(type) {
	case *catalog.AppendSegments:
		return !slices.ContainsFunc(x.Segments, func(g *catalog.Segment) bool { return g.Inline == nil })
	case *catalog.DeleteRows, *catalog.UniqueKeys:
		return true
	}
	return false
}

// EncodeCommit makes the bytes of a command that applies changes; none of them is a commit
// that does no more than what its id says.
func EncodeCommit(id CommitID, changes []catalog.Change) []byte {
	room := 64
	for _, c := range changes {
		room += 64
		if a, ok := c.(*catalog.AppendSegments); ok {
			for _, g := range a.Segments {
				room += 96 + 48*len(g.Zones) + len(g.Inline)
			}
		}
	}
	return codec.Append(append(make([]byte, 0, room), cmdCommit), commit{ID: id, Changes: changes})
}

// Response is what a commit came to.
type Response struct {
	// Index is the log index, and the version of the state that it made.
	Index   uint64
	Outcome catalog.Outcome
	// Err is a *pgerr.Error where the changes did not apply, and never will.
	Err error
	// Stopped says that the machine has stopped: what the command comes to is
	// not known here.
	Stopped bool
	// Ended, if not 0, is the epoch at which the gateway's session stands, past
	// the commit's own: this copy of the commit did nothing.
	Ended uint64
}

// Fills reports whether a command brings rows: such are refused where a disk has
// little room left, and those that may make room are not.
func Fills(cmd []byte) bool {
	if len(cmd) == 0 || cmd[0] != cmdCommit {
		return false
	}
	c, err := codec.Unmarshal[commit](cmd[1:])
	if err != nil {
		return true
	}
	return slices.ContainsFunc(c.Changes, func(x catalog.Change) bool {
		a, ok := x.(*catalog.AppendSegments)
		return ok && len(a.Segments) > 0
	})
}
