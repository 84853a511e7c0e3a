package raftnode

import (
	"context"
	"net"
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

// Dial implements raft.StreamLayer.
func (s *stream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.dialer.DialRaft(ctx, string(to))
}

// Addr is the advertised address: raft tells it to the others.
func (s *stream) Addr() net.Addr { return s.addr }

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }
