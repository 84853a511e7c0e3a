package rpc

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// Identity is who a node is. A node without a cluster waits for admission to one: it is
// a guest where it connects, and nodes that connect to it are its guests.
type Identity struct {
	Cluster catalog.ClusterID
	Node    uint64
	// Version is that of the node's program, Least the lowest of another with which it talks: 0 from
	// programs of version 1, which do not say them.
	Version, Least uint32
}

// Self returns the node's identity, which changes once: with its admission.
type Self func() Identity

// Fixed returns the Self of a node whose identity never changes.
func Fixed(cluster catalog.ClusterID, node uint64) Self {
	return func() Identity {
		return Identity{Cluster: cluster, Node: node, Version: version.Binary, Least: version.Oldest}
	}
}

// protocol is what programs of version 1 compare. It stays as it is: versions (Identity) say the rest.
const protocol = 4

// maxHandshake bounds each part of a handshake, in bytes.
const maxHandshake = 4096

// hello is what the dialer sends after the first byte. New fields of handshake messages
// may be added at the end only.
type hello struct {
	Protocol uint32
	Self     Identity
	To       uint64 // the node it means to reach; 0 for any
	Nonce    [32]byte
}

// welcome is the answer; after a refusal the connection is closed.
type welcome struct {
	Self    Identity
	Refusal *wireError
	Nonce   [32]byte
}

// proof follows from each end, the dialer first: a stranger gets no MAC to attack
// offline. The listener's may be a refusal, with which the connection ends.
type proof struct {
	MAC     []byte
	Refusal *wireError
}

// guest reports whether another node is limited to the calls for guests.
func (me Identity) guest(other Identity) bool {
	return me.Cluster.IsZero() || other.Cluster != me.Cluster
}

// admits decides on a connection: it returns nil, or the reason for a refusal.
func (me Identity) admits(kind byte, h hello) *pgerr.Error {
	switch {
	case h.Protocol != protocol:
		return pgerr.New(pgerr.ConnectionRejected, "the nodes speak protocols %d and %d", protocol, h.Protocol).
			WithHint("They run different versions.")
	case max(h.Self.Version, 1) < me.Least || max(me.Version, 1) < h.Self.Least:
		return pgerr.New(pgerr.ConnectionRejected, "node %x runs version %d and needs %d or later of others, node %x runs version %d and needs %d or later",
			me.Node, max(me.Version, 1), max(me.Least, 1), h.Self.Node, max(h.Self.Version, 1), max(h.Self.Least, 1)).
			WithHint("Versions next to each other form one cluster until it is finalised. Run the newer program on both.")
	case h.Self.Node == 0:
		return pgerr.New(pgerr.ConnectionRejected, "a node without an id cannot connect")
	case h.To != 0 && h.To != me.Node:
		return pgerr.New(pgerr.ConnectionRejected, "this is node %x, not node %x", me.Node, h.To).
			WithHint("Another node has its address now.")
	case me.Cluster == h.Self.Cluster && !me.Cluster.IsZero():
		return nil
	case !me.Cluster.IsZero() && !h.Self.Cluster.IsZero():
		return pgerr.New(pgerr.ConnectionRejected, "node %x belongs to cluster %s, node %x to cluster %s", h.Self.Node, h.Self.Cluster, me.Node, me.Cluster).
			WithHint("A node that has lost its directory joins its cluster with --join and an empty one.")
	case kind == kindRaft:
		return pgerr.New(pgerr.ConnectionRejected, "a node that waits for admission takes no part in the log")
	}
	return nil
}

// acceptHandshake performs the server's half of the handshake: it reads the peer's identity,
// answers, and verifies its proof of the secret.
func acceptHandshake(c net.Conn, kind byte, me Identity, key Secret) (*conn, *pgerr.Error, error) {
	raw, h, err := readFrame[hello](c)
	if err != nil {
		return nil, nil, err
	}
	met := &conn{Conn: c, peer: h.Self}
	w := welcome{Self: me}
	rand.Read(w.Nonce[:])
	no := me.admits(kind, h)
	if no != nil {
		w.Refusal = wireOf(no)
	}
	answer := frame(w)
	if _, err := c.Write(answer); err != nil || no != nil {
		return met, no, err
	}
	said := slices.Concat([]byte{kind}, raw, answer)
	_, p, err := readFrame[proof](c)
	if err != nil {
		return nil, nil, err
	}
	if !key.proves(roleDialer, said, p.MAC) {
		no = wrongSecret(fmt.Sprintf("the node that calls itself %x", h.Self.Node))
		_, err := c.Write(frame(proof{Refusal: wireOf(wrongSecret("this node"))}))
		return met, no, err
	}
	_, err = c.Write(frame(proof{MAC: key.prove(roleListener, said)}))
	return met, nil, err
}

// dialHandshake performs the dialer's half: it sends who connects to whom, reads the answer,
// and both prove that they have the secret. It returns who is there. A *pgerr.Error is a refusal, by
// that end or by this one.
func dialHandshake(c net.Conn, kind byte, me Identity, to uint64, key Secret) (is Identity, err error) {
	h := hello{Protocol: protocol, Self: me, To: to}
	rand.Read(h.Nonce[:])
	said := append([]byte{kind}, frame(h)...)
	if _, err := c.Write(said); err != nil {
		return is, err
	}
	raw, w, err := readFrame[welcome](c)
	if err != nil {
		return is, err
	}
	if w.Refusal != nil {
		return is, w.Refusal.refusal()
	}
	if no := w.Self.admits(kind, hello{Protocol: protocol, Self: me, To: to}); no != nil {
		return is, no
	}
	said = append(said, raw...)
	if _, err := c.Write(frame(proof{MAC: key.prove(roleDialer, said)})); err != nil {
		return is, err
	}
	_, p, err := readFrame[proof](c)
	if err != nil {
		return is, err
	}
	if p.Refusal != nil {
		return is, p.Refusal.refusal()
	}
	if !key.proves(roleListener, said, p.MAC) {
		return is, wrongSecret("the node there")
	}
	return w.Self, nil
}

func frame[T any](v T) []byte {
	b := codec.Append(make([]byte, 4), v)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// readFrame reads a message of the handshake; raw are its bytes.
func readFrame[T any](r io.Reader) (raw []byte, v T, err error) {
	raw = make([]byte, 4)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, v, err
	}
	size := binary.LittleEndian.Uint32(raw)
	if size > maxHandshake {
		return nil, v, pgerr.New(pgerr.ProtocolViolation, "a handshake of %d bytes", size)
	}
	raw = append(raw, make([]byte, size)...)
	if _, err := io.ReadFull(r, raw[4:]); err != nil {
		return nil, v, err
	}
	v, err = codec.Unmarshal[T](raw[4:])
	return raw, v, err
}

// conn is a connection from a node that has identified itself.
type conn struct {
	net.Conn
	peer Identity
}

// RemoteAddr implements net.Conn: handlers see it as the caller's address.
func (c *conn) RemoteAddr() net.Addr { return peerAddr{c.Conn.RemoteAddr(), c.peer} }

type peerAddr struct {
	net.Addr
	peer Identity
}

func callerOf(ctx context.Context) (peerAddr, bool) {
	if p, ok := peer.FromContext(ctx); ok {
		a, ok := p.Addr.(peerAddr)
		return a, ok
	}
	return peerAddr{}, false
}

// Caller returns the node that makes a call; zero where there is none.
func Caller(ctx context.Context) Identity {
	a, _ := callerOf(ctx)
	return a.peer
}

// CallerAddr returns the network address that a call comes from; nil where there is
// none.
func CallerAddr(ctx context.Context) net.Addr {
	a, _ := callerOf(ctx)
	return a.Addr
}

// refusals logs each refusal once in a while, not at every attempt.
type refusals struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// repeatAfter is how soon the same refusal is logged again.
const repeatAfter = 10 * time.Minute

// log logs a refusal of a peer. Nothing that a stranger can choose is part of the key
// under which refusals count as different.
func (r *refusals) log(log *slog.Logger, who string, no *pgerr.Error) {
	if log == nil {
		return
	}
	key := who + " " + string(no.Code)
	now := time.Now()
	r.mu.Lock()
	t, ok := r.said[key]
	due := !ok || now.Sub(t) >= repeatAfter
	if due {
		if len(r.said) > 256 || r.said == nil {
			r.said = map[string]time.Time{}
		}
		r.said[key] = now
	}
	r.mu.Unlock()
	if due {
		log.Warn("a connection between nodes was refused", "with", who, "err", no.Message, "hint", no.Hint)
	}
}
