package rpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/tlsconf"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// door is a server that counts the calls that it accepts.
type door struct {
	*rpc.Server
	in  atomic.Int32
	log lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

func openDoor(t *testing.T, trust rpc.Trust) *door {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{}
	d.Server = rpc.Listen(ln, trust, rpc.Fixed(catalog.ClusterID{1}, 1), slog.New(slog.NewTextHandler(&d.log, nil)))
	d.RegisterAction("a", func(context.Context, []byte) ([]byte, error) { d.in.Add(1); return nil, nil })
	d.RegisterGet("g", func(context.Context, []byte, func([]byte) error) error { d.in.Add(1); return nil })
	d.RegisterPut("p", func(context.Context, []byte, func() ([]byte, error)) ([]byte, error) { d.in.Add(1); return nil, nil })
	d.Guests("a")
	d.Serve()
	rafts := make(chan struct{})
	go func() {
		defer close(rafts)
		for {
			c, err := d.RaftListener().Accept()
			if err != nil {
				return
			}
			d.in.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { d.Close(); <-rafts })
	return d
}

func (d *door) addr() string { return d.Addr().String() }

// knock calls every service and returns how many calls were accepted, and the last error.
func (d *door) knock(t *testing.T, with *rpc.Dialer) (in int, last error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p := rpc.NewPeers(with, func(uint64) (string, bool) { return d.addr(), true })
	defer p.Close()
	tried := func(err error) {
		if err == nil {
			in++
		} else {
			last = err
		}
	}
	_, err := p.Action(ctx, 1, "a", nil)
	tried(err)
	recv, err := p.Get(ctx, 1, "g", nil)
	if err == nil {
		if _, err = recv(); err == io.EOF {
			err = nil
		}
	}
	tried(err)
	put, err := p.Put(ctx, 1, "p", nil)
	if err == nil {
		_, err = put.Finish()
	}
	tried(err)
	c, err := with.DialRaft(ctx, 1, d.addr())
	if err == nil {
		if _, err = c.Read(make([]byte, 1)); err == io.EOF {
			err = nil
		}
		c.Close()
	}
	tried(err)
	return in, last
}

// TestStrangers: every service refuses callers that are not members, and accepts members.
func TestStrangers(t *testing.T) {
	d := openDoor(t, trust)
	member := &rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, 2)}
	if in, err := d.knock(t, member); in != 4 || d.in.Load() != 4 {
		t.Fatalf("a member: %d, %d, %v", in, d.in.Load(), err)
	}
	d.in.Store(0)

	var log lockedBuffer
	wrong := rpc.Trust{Secret: rpc.Secret{1, 31: 1}}
	for _, self := range []rpc.Identity{{Cluster: catalog.ClusterID{1}, Node: 2}, {Node: 3}, {Cluster: catalog.ClusterID{1}, Node: 1}} {
		stranger := &rpc.Dialer{Trust: wrong, Self: rpc.Fixed(self.Cluster, self.Node), Log: slog.New(slog.NewTextHandler(&log, nil))}
		in, err := d.knock(t, stranger)
		if in != 0 {
			t.Errorf("%v with another secret: %d", self, in)
		}
		if self.Cluster.IsZero() {
			continue
		}
		if !pgerr.Is(err, pgerr.InvalidAuthorizationSpecification) || !strings.Contains(pgerr.From(err).Hint, "--join-secret") {
			t.Errorf("%v is told %v", self, err)
		}
	}
	if n := strings.Count(d.log.text(), "has not the secret"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, d.log.text())
	}
	for _, secret := range []rpc.Secret{trust.Secret, wrong.Secret} {
		if l := d.log.text() + log.text() + fmt.Sprintf("%v %+v %#v %s %x", secret, secret, trust, secret, secret); strings.Contains(l, secret.Text()[:8]) {
			t.Error("a secret is told")
		}
	}
	if _, err := d.knock(t, &rpc.Dialer{Self: rpc.Fixed(catalog.ClusterID{1}, 2)}); !pgerr.Is(err, pgerr.InvalidAuthorizationSpecification) {
		t.Errorf("without a secret: %v", err)
	}

	// A gRPC client that calls the services without the handshake.
	for _, prelude := range []string{"", "G"} {
		cc, err := grpc.NewClient("passthrough:///"+d.addr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, "tcp", d.addr())
				if err == nil {
					_, err = c.Write([]byte(prelude))
				}
				return c, err
			}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		stream, err := flight.NewFlightServiceClient(cc).DoAction(ctx, &flight.Action{Type: "a"})
		if err == nil {
			_, err = stream.Recv()
		}
		if err == nil {
			t.Errorf("gRPC after %q is answered", prelude)
		}
		cancel()
		cc.Close()
	}
	// Raft's own protocol: a request for a vote.
	c, err := net.Dial("tcp", d.addr())
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("R\x01\x86\xa4Term\x01\xacLastLogIndex\x01"))
	c.(*net.TCPConn).CloseWrite()
	if b, _ := io.ReadAll(c); len(b) > 0 {
		t.Errorf("raft's bytes are answered with %q", b)
	}
	c.Close()
	if d.in.Load() != 0 {
		t.Errorf("%d came in", d.in.Load())
	}
}

// tap records the bytes of a connection.
type tap struct {
	net.Conn
	out, in lockedBuffer
}

func (c *tap) Write(b []byte) (int, error) { c.out.Write(b); return c.Conn.Write(b) }

func (c *tap) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Write(b[:n])
	return n, err
}

// part reads one message of a handshake.
func part(t *testing.T, r io.Reader) []byte {
	t.Helper()
	b := make([]byte, 4)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	b = append(b, make([]byte, binary.LittleEndian.Uint32(b))...)
	if _, err := io.ReadFull(r, b[4:]); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReplay records a handshake and replays it, as the caller and as the server: neither is accepted,
// since each side's proof depends on a number that the other has just chosen.
func TestReplay(t *testing.T) {
	d := openDoor(t, trust)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var heard *tap
	member := &rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, 2), Net: func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		heard = &tap{Conn: c}
		return heard, err
	}}
	c, err := member.DialRaft(ctx, 1, d.addr())
	if err != nil {
		t.Fatal(err)
	}
	io.ReadAll(c) // this original handshake is accepted
	c.Close()
	if d.in.Load() != 1 {
		t.Fatal("the member is not in")
	}
	again, err := net.Dial("tcp", d.addr())
	if err != nil {
		t.Fatal(err)
	}
	again.Write([]byte(heard.out.text()))
	again.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, again)
	again.Close()
	if d.in.Load() != 1 || !strings.Contains(d.log.text(), "has not the secret") {
		t.Error("a handshake is good twice\n" + d.log.text())
	}

	// A server in a member's place replays the member's messages, then the
	// member's recorded proof, or the caller's own.
	old := bytes.NewBufferString(heard.in.text())
	welcome, theirs := part(t, old), part(t, old)
	for _, reflect := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			io.ReadFull(c, make([]byte, 1))
			part(t, c)
			c.Write(welcome)
			mine := part(t, c)
			if !reflect {
				mine = theirs
			}
			c.Write(mine)
			io.Copy(io.Discard, c)
		}()
		c, err := member.DialRaft(ctx, 1, ln.Addr().String())
		if err == nil {
			c.Close()
		}
		if !pgerr.Is(err, pgerr.InvalidAuthorizationSpecification) {
			t.Errorf("an impostor (reflects %v): %v", reflect, err)
		}
		ln.Close()
		<-done
	}
}

// TestClosedDoor: a server with neither secret nor certificates refuses all callers; certificates are
// read for each connection, so that changed files take effect.
func TestClosedDoor(t *testing.T) {
	d := openDoor(t, rpc.Trust{})
	if in, _ := d.knock(t, &rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, 2)}); in != 0 {
		t.Errorf("%d services answer", in)
	}
	authority := func() *tls.Config {
		dir := t.TempDir()
		if err := tlsconf.CreateCA(dir); err != nil {
			t.Fatal(err)
		}
		if err := tlsconf.CreateNode(dir, dir, []string{"127.0.0.1"}); err != nil {
			t.Fatal(err)
		}
		c, err := tlsconf.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return c.Peer()
	}
	var now atomic.Pointer[tls.Config]
	now.Store(authority())
	old := now.Load()
	d = openDoor(t, rpc.Trust{TLS: now.Load})
	self := rpc.Fixed(catalog.ClusterID{1}, 2)
	by := func(c func() *tls.Config) int {
		in, _ := d.knock(t, &rpc.Dialer{Trust: rpc.Trust{TLS: c}, Self: self})
		return in
	}
	if in := by(now.Load); in != 4 {
		t.Errorf("with a certificate: %d", in)
	}
	now.Store(authority())
	if in := by(now.Load); in != 4 {
		t.Errorf("with the new certificate: %d", in)
	}
	if in := by(func() *tls.Config { return old }); in != 0 {
		t.Errorf("with the certificate of before: %d", in)
	}
	if in, _ := d.knock(t, &rpc.Dialer{Trust: trust, Self: self}); in != 0 {
		t.Errorf("with a secret and no certificate: %d", in)
	}
}

func TestSecretText(t *testing.T) {
	s := rpc.NewSecret()
	if s == rpc.NewSecret() || s.IsZero() {
		t.Fatal("not random")
	}
	if got, err := rpc.ParseSecret(" " + s.Text() + "\n"); err != nil || got != s {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "x", s.Text()[1:], s.Text() + "00", strings.Repeat("g", 64)} {
		if _, err := rpc.ParseSecret(bad); !pgerr.Is(err, pgerr.InvalidParameterValue) || strings.Contains(err.Error(), s.Text()[2:10]) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
