// Package rpc connects the nodes: one port, on which the first byte of a
// connection says what it carries.
//
//	            ┌ 'R' ─▶ RaftListener (package raftnode's transport)
//	Listen ─ TLS┤
//	            ├ 'G' ─▶ gRPC: Arrow Flight
//	            │          DoAction  RegisterAction  request → reply
//	            │          DoGet     RegisterGet     ticket → stream of bytes
//	            └ 'P' ─▶ stream connections, each for a stream at a time
//	                       Put       RegisterPut     stream of bytes → reply
//
// After that byte both ends identify themselves (handshake.go): node, cluster, and
// which node is meant. Without TLS each then proves that it has the cluster's secret
// (secret.go). Nodes of two clusters refuse each other; one that has no cluster yet is
// a guest, which may only ask for admission.
//
// A Server is a node's end, Peers are its connections to the others, one a node for
// calls, one for streams that it is asked for, and as many stream connections as it has
// streams to it at once. Streams carry chunks of bytes under flow control: a slow
// reader slows the sender. Errors cross as values: a *pgerr.Error arrives with its
// code, detail and hint; a node that cannot be reached is an *UnreachableError.
//
// The package does not interpret what it carries.
package rpc
