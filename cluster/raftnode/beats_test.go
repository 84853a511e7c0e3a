package raftnode

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// TestBeatsEnd: Close waits for a heartbeat that is being handled, and a later
// one is answered without raft.
func TestBeatsEnd(t *testing.T) {
	var b beats
	began, goOn, order := make(chan struct{}), make(chan struct{}), make(chan string, 2)
	h := b.handler(func(raft.RPC) {
		close(began)
		<-goOn
		order <- "beat"
	})
	go h(raft.RPC{})
	<-began
	go func() {
		b.end()
		order <- "end"
	}()
	close(goOn)
	if first, second := <-order, <-order; first != "beat" || second != "end" {
		t.Errorf("%s before %s", first, second)
	}
	answer := make(chan raft.RPCResponse, 1)
	h(raft.RPC{RespChan: answer})
	if got := <-answer; !errors.Is(got.Error, raft.ErrRaftShutdown) {
		t.Errorf("a heartbeat after the end: %v", got.Error)
	}
}
