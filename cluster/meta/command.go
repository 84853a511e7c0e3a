package meta

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/catalog/pack"
)

// The commands. A number is never used again for another; a command of a later
// version that older nodes may skip has bit 7 set.
const (
	cmdCommit   = 1
	cmdSkipable = 0x80
)

// CommitID names a commit over retries.
type CommitID [16]byte

// commit is the payload of cmdCommit.
type commit struct {
	ID      CommitID
	Changes []catalog.Change
}

// EncodeCommit makes the command that applies changes.
func EncodeCommit(id CommitID, changes []catalog.Change) []byte {
	return pack.Append([]byte{cmdCommit}, commit{ID: id, Changes: changes})
}

// Response is what a commit came to.
type Response struct {
	// Index is the log index, and the version of the state that it made.
	Index   uint64
	Outcome catalog.Outcome
	// Err is a *pgerr.Error where the changes did not apply.
	Err error
	// Stopped says that the machine has stopped: what the command comes to is
	// not known here.
	Stopped bool
}
