package meta

import (
	"slices"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// The command types. A number is never reused (1 was a commit with a random id); a
// command of a later version that older nodes may skip has bit 7 set.
const (
	cmdCommit   = 2
	cmdSkipable = 0x80
)

// CommitID identifies a commit across retries: number Seq of one epoch of a gateway.
type CommitID struct {
	// Gateway is the node that proposes, Epoch its incarnation (one for each start):
	// greater than that of every earlier one.
	Gateway, Epoch uint64
	// Seq numbers the commits of the epoch from 1. None below Mark will be proposed again:
	// the state machine forgets their outcomes, and refuses copies that are still in
	// flight.
	Seq, Mark uint64
}

// commit is the payload of cmdCommit.
type commit struct {
	ID      CommitID
	Changes []catalog.Change
	Locks   []advisory.Op // applied after the changes, with them or not at all
	// Micros is the time of the gateway's clock, in Unix µs; 0 for a commit from before it was kept.
	Micros int64
}

// Command is a commit as it is in the log. Where its own node applies it, the changes
// need not be decoded from it again.
type Command struct {
	Bytes []byte
	made  *commit // the decoded form of Bytes; nil: they must be decoded
}

// NewCommand makes the command that applies changes, and operations on advisory locks, at a time.
// They must not be modified any more.
func NewCommand(id CommitID, at time.Time, changes []catalog.Change, locks ...advisory.Op) Command {
	made := commit{ID: id, Changes: changes, Locks: locks, Micros: at.UnixMicro()}
	c := Command{Bytes: made.encode()}
	if !slices.ContainsFunc(changes, func(x catalog.Change) bool { return !unchangedByCodec(x) }) {
		c.made = &made
	}
	return c
}

// Changes are the changes of the command, at which time: those of a record of the past.
func (c Command) Changes() (changes []catalog.Change, micros int64) {
	if c.made == nil {
		return nil, 0
	}
	return c.made.Changes, c.made.Micros
}

// ReadCommand returns the command of another node, or why this node could not apply it: it
// may be of a later version, or damaged. Once in the log such a command stops every node that
// cannot read it, at each start again, so a leader refuses it.
func ReadCommand(b []byte) (Command, error) {
	switch {
	case len(b) == 0:
		return Command{}, pgerr.New(pgerr.ProtocolViolation, "an empty command")
	case b[0] == cmdCommit:
		c, err := codec.Unmarshal[commit](b[1:])
		if err != nil {
			return Command{}, err
		}
		if slices.Contains(c.Changes, nil) {
			return Command{}, pgerr.New(pgerr.ProtocolViolation, "a commit with an empty change")
		}
		for _, x := range c.Changes {
			if f, ok := x.(*catalog.FinalizeVersion); ok {
				if err := version.Readable(f.Version, "the cluster"); err != nil {
					return Command{}, err
				}
			}
		}
		return Command{Bytes: b, made: &c}, nil
	case b[0]&cmdSkipable != 0:
		return Command{Bytes: b}, nil
	}
	return Command{}, pgerr.Unsupported("command %d of the log is not known", b[0])
}

// unchangedByCodec reports whether a change may be applied without encoding and decoding it. It
// is one of those of small statements, and is, to the last nil, equal to what decoding
// its encoding returns: the state must be the same whether the log was decoded or not.
// Changes that describe files come with more rows at a time, and are decoded.
func unchangedByCodec(x catalog.Change) bool {
	switch x := x.(type) {
	case *catalog.AppendSegments:
		return !slices.ContainsFunc(x.Segments, func(g *catalog.Segment) bool { return g.Inline == nil })
	case *catalog.DeleteRows, *catalog.UniqueKeys:
		return true
	}
	return false
}

// EncodeCommit makes the bytes of a command that applies changes; with no changes it
// has no effect beyond that of its id.
func EncodeCommit(id CommitID, changes []catalog.Change, locks ...advisory.Op) []byte {
	return commit{ID: id, Changes: changes, Locks: locks}.encode()
}

func (c commit) encode() []byte {
	room := 64 + 64*len(c.Locks)
	for _, c := range c.Changes {
		room += 64
		if a, ok := c.(*catalog.AppendSegments); ok {
			for _, g := range a.Segments {
				room += 96 + 48*len(g.Zones) + len(g.Inline)
			}
		}
	}
	return codec.Append(append(make([]byte, 0, room), cmdCommit), c)
}

// Response is the outcome of a commit.
type Response struct {
	// Index is the log index, and the version of the state that it made.
	Index   uint64
	Outcome catalog.Outcome
	Lock    advisory.Result
	// Err is a *pgerr.Error where the changes were refused for good.
	Err error
	// Stopped says that the machine has stopped: the command's outcome is not known here.
	Stopped bool
	// Ended, if not 0, is the epoch of the gateway's session, which is later than the
	// commit's: this copy of the commit had no effect.
	Ended uint64
}

// AddsRows reports whether the command adds rows: such commands are refused where a disk is
// nearly full, while those that may free space are not.
func (c Command) AddsRows() bool {
	made := c.made
	if made == nil {
		read, err := ReadCommand(c.Bytes)
		if err != nil || read.made == nil {
			return err != nil
		}
		made = read.made
	}
	return slices.ContainsFunc(made.Changes, func(x catalog.Change) bool {
		a, ok := x.(*catalog.AppendSegments)
		return ok && len(a.Segments) > 0
	})
}
