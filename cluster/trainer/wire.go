package trainer

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
)

// The RPCs.
const (
	callPart  = "trainer.part"
	callTask  = "trainer.task"
	callOffer = "trainer.offer"
	callKept  = "trainer.kept"
	callKeep  = "trainer.keep"
)

// openMsg opens a part on a node.
type openMsg struct {
	Name    string
	Job     []byte
	Members []uint64 // the driver first
	Self    int      // the node's index among them
	Rescan  bool     // the query may be read a second time
	// Over names the group whose cached dataset, with key Key, the part uses instead of
	// rows; "" for none.
	Over string
	Key  [32]byte
}

// keptMsg describes a node's cached part for a key: Origin is "" for none, Root the
// driver's train.Encoded where this node was the driver.
type keptMsg struct {
	Origin  string
	Members []uint64
	Root    []byte
}

// keepMsg asks a node to cache its part of a group's dataset.
type keepMsg struct {
	Name   string
	Source train.Source
}

// offer is the header of a slice of a partial that is sent to the home of its parent, or of
// rows that are sent to the owner of their leaves.
type offer struct {
	name  string
	iter  int
	slice int // rowsSlice for rows
	node  reduce.Node
	size  int // bytes that follow; 0: there were no rows
}

const rowsSlice = -1

func (m *offer) encode() []byte {
	var e canon.E
	e.Str(m.name)
	e.Int(m.iter)
	e.Int(m.slice)
	e.U32(uint32(m.node.Level))
	e.U32(uint32(m.node.Index))
	e.Int(m.size)
	return e.B
}

func decodeOffer(b []byte) (*offer, error) {
	d := canon.Read(b)
	m := &offer{name: d.Str(), iter: d.Int(), slice: d.Int(), node: reduce.Node{Level: int32(d.U32()), Index: int32(d.U32())}, size: d.Int()}
	if m.size < 0 {
		d.Fail()
	}
	return m, d.Done("the header of a training partial")
}
