package raftnode

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// marksFile holds what a node must never fall behind: how far it has applied its log,
// and how far each other member is known to have stored and committed its own. An older
// copy of a directory, or of its raft folder alone, is told by them (docs/decisions/0043).
const marksFile = "marks"

// marksEvery is how often changed marks are written: the last second may be missing.
const marksEvery = time.Second

// marks are a node's marks. Indexes only grow as long as the log is the same: an entry
// that is committed and stored is never removed.
type marks struct {
	path string
	log  uint64 // the log's own number: that of a new log is another

	mu      sync.Mutex
	applied uint64
	heard   map[uint64]heardMark
	acked   map[uint64]mark // by member: what it has stored of the log of this node as a leader
	text    string          // as written
}

// heardMark says that a member has entry Index of its log number Log, and that the entry is
// committed.
type heardMark struct{ Log, Index uint64 }

// logKey is the key of the log's number in the log.
var logKey = []byte("tributary-log")

// openMarks reads a directory's marks and compares them with its log, which ends at last.
func openMarks(d *Dir, j *journal, last uint64) (*marks, error) {
	m := &marks{path: filepath.Join(d.Path, marksFile), heard: map[uint64]heardMark{}, acked: map[uint64]mark{}}
	var err error
	if m.log, err = j.GetUint64(logKey); errors.Is(err, errNoKey) {
		var raw [8]byte
		rand.Read(raw[:])
		m.log, err = binary.LittleEndian.Uint64(raw[:])|1, nil
		err = j.SetUint64(logKey, m.log)
	}
	if err != nil {
		return nil, damaged(j.boltLog.path, err.Error())
	}
	b, err := os.ReadFile(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, dirError(err, d.Path)
	default:
		log, err := m.parse(b)
		if err != nil {
			return nil, pgerr.New(pgerr.DataCorrupted, "file %q is damaged: %s", m.path, err.Error()).
				WithHint("It only tells whether the directory is an older copy. Where the other parts are the newest there are, remove it and start again.")
		}
		if log != m.log {
			return nil, older(d.Path, "its log is not the one that it had")
		}
	}
	j.floor = max(j.floor, m.applied)
	if j.floor > last {
		return nil, older(d.Path, fmt.Sprintf("its log ends at entry %d, and the node had applied entry %d", last, j.floor))
	}
	return m, nil
}

// older returns the error for a directory that lacks what its node had.
func older(path, what string) error {
	return pgerr.New(pgerr.DataCorrupted, "data directory %q, or a part of it, is older than what its node has agreed to: %s", path, what).
		WithDetail("Commits that were acknowledged would be undone. Nothing was changed.").
		WithHint("Put the newest directory back. If it is lost and the other nodes have a majority, keep this one aside, start the node with an empty directory, " +
			"another name and --join, and remove the old name. A cluster of one is restored from a backup. See \"An older copy of a directory\" in docs/operations/damage.md.")
}

func (m *marks) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tributary %d\nlog %x\napplied %d\n", identityFormat, m.log, m.applied)
	for _, id := range slices.Sorted(maps.Keys(m.heard)) {
		fmt.Fprintf(&b, "heard %x %x %d\n", id, m.heard[id].Log, m.heard[id].Index)
	}
	fmt.Fprintf(&b, "sum %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.String()
}

// parse reads what String wrote, and returns the number of its log.
func (m *marks) parse(b []byte) (log uint64, err error) {
	at := bytes.LastIndex(b, []byte("sum "))
	if at < 0 || string(b[at:]) != fmt.Sprintf("sum %08x\n", crc32.Checksum(b[:at], castagnoli)) {
		return 0, errors.New("its checksum is wrong")
	}
	for _, line := range bytes.Split(bytes.TrimSpace(b[:at]), []byte("\n")) {
		var id uint64
		var h heardMark
		switch name, value, _ := bytes.Cut(line, []byte(" ")); string(name) {
		case "tributary":
		case "log":
			_, err = fmt.Sscanf(string(value), "%x", &log)
		case "applied":
			_, err = fmt.Sscanf(string(value), "%d", &m.applied)
		case "heard":
			_, err = fmt.Sscanf(string(value), "%x %x %d", &id, &h.Log, &h.Index)
			m.heard[id] = h
		default:
			err = errors.New("it has an unknown line")
		}
		if err != nil {
			return 0, err
		}
	}
	return log, nil
}

// hear records what a member says that it has applied.
func (m *marks) hear(id, log, applied uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.heard[id]
	if h.Log != log {
		h = heardMark{Log: log}
		delete(m.acked, id)
	}
	h.Index = max(h.Index, applied)
	if log != 0 {
		m.heard[id] = h
	}
}

// stored records that a member has stored the log of a term's leader up to an index.
func (m *marks) stored(id, term, index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.acked[id]; term > a.term || term == a.term && index > a.index {
		m.acked[id] = mark{term, index}
	}
}

// of returns what is known of a member. committed is the term that this node leads, 0
// for none, and up to where the log is committed: another leader may have taken back
// what a member had stored and was not committed.
func (m *marks) of(id uint64, committed mark) heardMark {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, a := m.heard[id], m.acked[id]
	if h.Log != 0 && a.term == committed.term && a.term != 0 {
		h.Index = max(h.Index, min(a.index, committed.index))
		m.heard[id] = h
	}
	return h
}

// keeper keeps the marks, and compares the node's log with what others know of it.
type keeper struct {
	*Node
	marks *marks
	// compared is closed once the others' marks of this node were asked for.
	compared chan struct{}
}

// knows returns what this node knows of another's log.
func (n *keeper) knows(id uint64) heardMark {
	c := mark{index: n.raft.CommitIndex()}
	if term := n.raft.CurrentTerm(); n.raft.State() == raft.Leader {
		c.term = term
	}
	return n.marks.of(id, c)
}

// write writes the marks where they have changed.
func (m *marks) write(applied uint64, member func(uint64) bool) error {
	m.mu.Lock()
	m.applied = max(m.applied, applied)
	maps.DeleteFunc(m.heard, func(id uint64, _ heardMark) bool { return !member(id) })
	text := m.String()
	same := text == m.text
	m.mu.Unlock()
	if same {
		return nil
	}
	if err := replaceFile(m.path, text); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = text
	return nil
}

// keepMarks writes the marks until the node ends, and once more then.
func (n *keeper) keepMarks() {
	write := func() error {
		state := n.fsm.Current()
		for _, s := range state.Nodes() {
			n.knows(s.ID)
		}
		return n.marks.write(n.fsm.Applied(), func(id uint64) bool { return state.Node(id) != nil })
	}
	tick := time.NewTicker(marksEvery)
	defer tick.Stop()
	failing := false
	for end := false; !end; {
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			end = true
		}
		err := write()
		if err != nil && !failing {
			n.o.Log.Warn("could not write the node's marks", "err", err)
		}
		failing = err != nil
	}
}

// lastWord is what a member is asked, by a node that starts, about that node.
type lastWord struct{ Node, Log uint64 }

func (n *keeper) handleLastWord(_ context.Context, w lastWord) (uint64, error) {
	if h := n.knows(w.Node); h.Log == w.Log {
		return h.Index, nil
	}
	return 0, nil
}

// askTime is how long a node that starts waits for the others' marks before it votes.
const askTime = 2 * time.Second

// compareMarks asks the other members how far they know this node's log to go, before
// it votes or stands for election.
func (n *keeper) compareMarks() {
	defer close(n.compared)
	ctx, cancel := context.WithTimeout(n.ctx, askTime)
	defer cancel()
	conf, _, err := n.electorate.configuration(ctx)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	for _, s := range conf {
		if s.ID == n.o.Self.ID {
			continue
		}
		wg.Go(func() {
			addr, _ := n.Addr(s.ID)
			if addr == "" {
				addr = s.Addr
			}
			b, err := n.peers.ActionAt(ctx, s.ID, addr, callLastWord, rpc.Encode(lastWord{n.o.Self.ID, n.marks.log}))
			if err != nil {
				return // what it knows comes with its pings, once it can be reached
			}
			if index, err := rpc.Decode[uint64](b); err == nil {
				n.told(s.ID, heardMark{n.marks.log, index})
			}
		})
	}
	wg.Wait()
}

// told compares this node's log with what another member knows of it.
func (n *keeper) told(by uint64, h heardMark) {
	has := max(n.raft.LastIndex(), n.raft.AppliedIndex())
	if h.Log != n.marks.log || h.Index <= has {
		return
	}
	n.behind(older(n.o.Dir.Path, fmt.Sprintf("its log ends at entry %d, and node %x knows that it had entry %d", has, by, h.Index)))
}

// behind ends the node: it, or its cluster, lacks what was acknowledged.
func (n *keeper) behind(err error) {
	n.admission.refuse(err)
	n.leave(err)
}

// has reports whether the log has an entry of a term, or it was removed after it was applied.
func (n *keeper) has(index, term uint64) bool {
	var e raft.Log
	switch err := n.bolt.GetLog(index, &e); {
	case err == nil:
		return e.Term == term
	case errors.Is(err, raft.ErrLogNotFound):
		return index <= n.fsm.Applied()
	}
	return false // whoever reads it meets the error too
}

// contradicts reports whether a leader's message would take back what this node has
// applied. Raft rules that out: a voter has forgotten what it had stored.
func (n *keeper) contradicts(a *raft.AppendEntriesRequest) bool {
	floor := max(n.bolt.floor, n.fsm.Applied())
	if a.Term < n.raft.CurrentTerm() || a.PrevLogEntry > floor {
		return false
	}
	other := func(index, term uint64) bool {
		var has raft.Log
		return index > 0 && index <= floor && n.bolt.GetLog(index, &has) == nil && has.Term != term
	}
	bad := a.PrevLogEntry
	found := other(a.PrevLogEntry, a.PrevLogTerm)
	for _, e := range a.Entries {
		if found || e.Index > floor {
			break
		}
		bad, found = e.Index, other(e.Index, e.Term)
	}
	if found {
		n.behind(pgerr.New(pgerr.DataCorrupted, "the cluster's log has another entry %d than this node, which has applied its entries up to %d", bad, floor).
			WithDetail("A voter was started from an older copy of its data directory, or its disk has lost writes: commits that were acknowledged are on this node, and the cluster goes on without them. This node's log was not changed.").
			WithHint("Stop all nodes and keep all directories. To go on with what this node has, recover the cluster from its directory (tributary recover). " +
				"To go on without, replace this node. See \"An older copy of a directory\" in docs/operations/damage.md."))
	}
	return found
}
