package raftnode

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/rpc"
)

// stream implements raft.StreamLayer over the cluster's port.
type stream struct {
	net.Listener
	dialer *rpc.Dialer
	addr   address
}

// Dial implements raft.StreamLayer. An address may begin with the id of the node
// that is meant, see resolver: another in its place is refused.
func (s *stream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	id, addr, ok := strings.Cut(string(to), "@")
	if !ok {
		return s.dialer.DialRaft(ctx, 0, string(to))
	}
	return s.dialer.DialRaft(ctx, nodeID(raft.ServerID(id)), addr)
}

// Addr returns the advertised address, which raft sends to the others.
func (s *stream) Addr() net.Addr { return s.addr }

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }
