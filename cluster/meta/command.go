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

// EncodeCommit makes the command that applies changes; none of them is a commit
// that does no more than what its id says.
func EncodeCommit(id CommitID, changes []catalog.Change) []byte {
	return codec.Append([]byte{cmdCommit}, commit{ID: id, Changes: changes})
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

// Fills tells whether a command brings rows: such are refused where a disk has
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
