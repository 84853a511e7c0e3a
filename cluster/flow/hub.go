package flow

import (
	"context"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const callSend = "flow.send"

// LostError says that a node of the statement does not answer. Err is what the
// client may see.
type LostError struct {
	Node uint64
	Err  error
}

// Error implements error.
func (e *LostError) Error() string { return fmt.Sprintf("node %d is lost: %v", e.Node, e.Err) }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Hub is a node's end of all exchanges. Its methods may be called from any
// goroutine.
type Hub struct {
	self  uint64
	peers *rpc.Peers
	kept  *observe.Node // takes what flows have sent; may be nil

	mu    sync.Mutex
	flows map[string]*Flow // by run
}

// NewHub makes a node's hub and registers it with the node's server.
func NewHub(self uint64, peers *rpc.Peers, srv *rpc.Server, kept *observe.Node) *Hub {
	h := &Hub{self: self, peers: peers, kept: kept, flows: map[string]*Flow{}}
	srv.RegisterPut(callSend, h.receive)
	return h
}

// header begins a stream.
type header struct {
	Run    string
	Stage  int
	Sender int // number of the sending node in the run
}

// receive handles the stream of a sender: encoded batches until the end. A broken
// stream is reported by its sender.
func (h *Hub) receive(ctx context.Context, head []byte, recv func() ([]byte, error)) ([]byte, error) {
	hd, err := rpc.Decode[header](head)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	f := h.flows[hd.Run]
	h.mu.Unlock()
	if f == nil {
		return nil, errNotRunning(hd.Run)
	}
	box := f.inbox(hd.Stage, hd.Sender)
	if box == nil {
		return nil, pgerr.Internal("stage %d of run %s is not read here", hd.Stage, hd.Run)
	}
	for {
		data, err := recv()
		if err == io.EOF {
			box.end()
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := batch.Decode(aligned(data), box.types)
		if err != nil {
			return nil, err
		}
		if err := box.push(ctx, b); err != nil {
			return nil, err
		}
	}
}

// errNotRunning reports that the node no longer takes part in a run. The sender treats
// the node as lost, since a node stays in a run until the gateway ends it.
func errNotRunning(run string) error {
	return pgerr.New(pgerr.AdminShutdown, "statement %s does not run on this node any more", run)
}

// aligned returns data, copied if need be, at an address that batch.Decode can alias.
func aligned(data []byte) []byte {
	if len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%8 == 0 {
		return data
	}
	words := make([]uint64, (len(data)+7)/8)
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(data))
	copy(out, data)
	return out
}
