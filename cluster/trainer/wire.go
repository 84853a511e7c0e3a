package trainer

import (
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
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
	Role types.OID // whose training it is; 0: nobody's
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
	Name  string
	Iter  int
	Slice int // rowsSlice for rows
	Node  reduce.Node
	Size  int // bytes that follow; 0: there were no rows
}

const rowsSlice = -1

func decodeOffer(b []byte) (*offer, error) {
	m, err := rpc.Decode[offer](b)
	if err == nil && m.Size < 0 {
		err = pgerr.New(pgerr.DataCorrupted, "a training partial came with an invalid header")
	}
	return &m, err
}
