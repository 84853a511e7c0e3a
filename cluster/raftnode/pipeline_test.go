package raftnode

import (
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestRefusedPipeline: once a follower has refused an entry, the leader's pipeline to it returns an
// error for further entries. Raft stops reading the answers at that point, so that a send would
// otherwise block the leader forever.
func TestRefusedPipeline(t *testing.T) {
	open := func() *raft.NetworkTransport {
		n, err := raft.NewTCPTransport("127.0.0.1:0", nil, 1, 5*time.Second, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		return n
	}
	leader, follower := transport{NetworkTransport: open(), n: &Node{}}, open()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case rpc := <-follower.Consumer():
				rpc.Respond(&raft.AppendEntriesResponse{Term: 1, Success: false}, nil)
			case <-stop:
				return
			}
		}
	}()
	p, err := leader.AppendEntriesPipeline("f", follower.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	sent := make(chan error, 1)
	go func() { // as raft sends
		for {
			req := &raft.AppendEntriesRequest{Term: 1, RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
			if _, err := p.AppendEntries(req, new(raft.AppendEntriesResponse)); err != nil {
				sent <- err
				return
			}
		}
	}()
	if f := <-p.Consumer(); f.Error() != nil || f.Response().Success { // as raft reads: not after a refusal
		t.Fatalf("%v %v", f.Error(), f.Response())
	}
	select {
	case <-sent:
	case <-time.After(time.Minute):
		t.Fatal("the sender is held for good")
	}
}
