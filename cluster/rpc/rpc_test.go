package rpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/tlsconf"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

func pair(t *testing.T, conf *tls.Config, register func(*rpc.Server)) (*rpc.Server, *rpc.Peers, *rpc.Dialer) {
	t.Helper()
	trust := trust
	if conf != nil {
		trust = rpc.Trust{TLS: func() *tls.Config { return conf }}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.Listen(ln, trust, rpc.Fixed(catalog.ClusterID{1}, 1), slog.New(slog.DiscardHandler))
	register(s)
	s.Serve()
	d := &rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, 9)}
	p := rpc.NewPeers(d, func(n uint64) (string, bool) { return ln.Addr().String(), n == 1 })
	t.Cleanup(func() { p.Close(); s.Close() })
	return s, p, d
}

// peerTLS makes the certificates of nodes at 127.0.0.1.
func peerTLS(t *testing.T) *tls.Config {
	t.Helper()
	dir := t.TempDir()
	tlsconf.CreateCA(dir)
	tlsconf.CreateNode(dir, dir, []string{"127.0.0.1"})
	certs, err := tlsconf.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return certs.Peer()
}

func register(s *rpc.Server) {
	rpc.Handle(s, "double", func(ctx context.Context, n int) (int, error) {
		if n < 0 {
			return 0, pgerr.New(pgerr.NumericValueOutOfRange, "negative").WithDetail("it is %d", n).WithHint("no").At(3)
		}
		if n == 666 {
			panic("boom")
		}
		return n * 2, nil
	})
	s.RegisterAction("who", func(ctx context.Context, b []byte) ([]byte, error) { return fmt.Append(nil, rpc.Caller(ctx).Node), nil })
	s.RegisterAction("wait", func(ctx context.Context, b []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() })
	s.RegisterGet("count", func(ctx context.Context, ticket []byte, send func([]byte) error) error {
		for i := 0; i < int(ticket[0]); i++ {
			if err := send(bytes.Repeat([]byte{byte(i)}, 1<<20)); err != nil {
				return err
			}
		}
		return pgerr.New(pgerr.DataCorrupted, "end")
	})
	s.RegisterPut("sum", func(ctx context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error) {
		n := 0
		for {
			b, err := recv()
			if err == io.EOF {
				return fmt.Append(header, n), nil
			}
			if err != nil {
				return nil, err
			}
			if n += len(b); n > 5<<20 {
				return nil, pgerr.New(pgerr.DiskFull, "full")
			}
		}
	})
}

func TestCalls(t *testing.T) {
	for name, conf := range map[string]*tls.Config{"plain": nil, "tls": peerTLS(t)} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s, p, d := pair(t, conf, register)
			if n, err := rpc.Call[int](ctx, p, 1, "double", 21); n != 42 || err != nil {
				t.Fatal(n, err)
			}
			_, err := rpc.Call[int](ctx, p, 1, "double", -4)
			if e := pgerr.From(err); e.Code != pgerr.NumericValueOutOfRange || e.Detail != "it is -4" || e.Hint != "no" || e.Position != 3 {
				t.Fatalf("%+v", e)
			}
			if _, err := rpc.Call[int](ctx, p, 1, "double", 666); !pgerr.Is(err, pgerr.InternalError) {
				t.Fatal(err)
			}
			if b, err := p.Action(ctx, 1, "who", nil); string(b) != "9" || err != nil {
				t.Fatal(string(b), err)
			}
			if _, err := p.Action(ctx, 1, "nothing", nil); !pgerr.Is(err, pgerr.FeatureNotSupported) {
				t.Fatal(err)
			}
			if _, err := p.Action(ctx, 2, "who", nil); !rpc.Unreachable(err) {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if _, err := p.Action(short, 1, "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			recv, err := p.Get(ctx, 1, "count", []byte{30})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				if b, err := recv(); err != nil || len(b) != 1<<20 || b[0] != byte(i) {
					t.Fatal(i, err)
				}
			}
			if _, err := recv(); !pgerr.Is(err, pgerr.DataCorrupted) {
				t.Fatal(err)
			}
			put, err := p.Put(ctx, 1, "sum", []byte("h"))
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if err := put.Send(make([]byte, 1<<20)); err != nil {
					t.Fatal(err)
				}
			}
			if b, err := put.Finish(); string(b) != "h4194304" || err != nil {
				t.Fatal(string(b), err)
			}
			put, _ = p.Put(ctx, 1, "sum", nil)
			for err = nil; err == nil; {
				err = put.Send(make([]byte, 1<<20))
			}
			put.Cancel()
			if !pgerr.Is(err, pgerr.DiskFull) {
				t.Fatal(err)
			}
			// Raft's connections are accepted on the same port, by a listener of their own.
			go func() {
				c, err := s.RaftListener().Accept()
				if err == nil {
					io.Copy(c, c)
					c.Close()
				}
			}()
			c, err := d.DialRaft(ctx, 1, s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			c.Write([]byte("hi"))
			b := make([]byte, 2)
			if _, err := io.ReadFull(c, b); err != nil || string(b) != "hi" {
				t.Fatal(err)
			}
			c.Close()
		})
	}
}

func TestServerGoesAway(t *testing.T) {
	s, p, _ := pair(t, nil, register)
	errs := make(chan error, 1)
	go func() {
		_, err := p.Action(context.Background(), 1, "wait", nil)
		errs <- err
	}()
	for { // until the server handles the call
		if _, err := p.Action(context.Background(), 1, "who", nil); err == nil {
			break
		}
	}
	s.Close()
	if err := <-errs; !rpc.Unreachable(err) {
		t.Fatal(err)
	}
	if _, err := p.Action(context.Background(), 1, "who", nil); !rpc.Unreachable(err) {
		t.Fatal(err)
	}
}

func TestDrop(t *testing.T) {
	_, p, _ := pair(t, nil, register)
	errs := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		recv, err := p.Get(context.Background(), 1, "count", []byte{255})
		if err == nil {
			_, err = recv()
		}
		close(started)
		for err == nil {
			_, err = recv()
		}
		errs <- err
	}()
	<-started
	p.Drop(1)
	if err := <-errs; err == nil {
		t.Fatal("the stream goes on")
	}
	if _, err := p.Action(context.Background(), 1, "who", nil); err != nil {
		t.Fatal(err)
	}
}

// TestNoise sends random bytes to the server's port.
func TestNoise(t *testing.T) {
	s, p, _ := pair(t, nil, register)
	for _, b := range []string{"", "X", "G", "Ghello, this is not HTTP/2", "\x00\xff\xff"} {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(b))
		c.Close()
	}
	if _, err := p.Action(context.Background(), 1, "who", nil); err != nil {
		t.Fatal(err)
	}
}

// TestHandshake connects two nodes in all combinations of members, guests (which may only join) and
// strangers.
func TestHandshake(t *testing.T) {
	a, b := catalog.ClusterID{1}, catalog.ClusterID{2}
	for _, c := range []struct {
		name           string
		server, dialer rpc.Identity
		to             uint64
		refused        bool
		open, closed   bool // whether a call that guests may make succeeds, and one that only members may make
	}{
		{"members", rpc.Identity{Cluster: a, Node: 1}, rpc.Identity{Cluster: a, Node: 2}, 1, false, true, true},
		{"another node's address", rpc.Identity{Cluster: a, Node: 3}, rpc.Identity{Cluster: a, Node: 2}, 1, true, false, false},
		{"two clusters", rpc.Identity{Cluster: a, Node: 1}, rpc.Identity{Cluster: b, Node: 2}, 1, true, false, false},
		{"a guest", rpc.Identity{Cluster: a, Node: 1}, rpc.Identity{Node: 2}, 1, false, true, false},
		{"at a guest's", rpc.Identity{Node: 1}, rpc.Identity{Cluster: a, Node: 2}, 1, false, true, false},
		{"two guests", rpc.Identity{Node: 1}, rpc.Identity{Node: 2}, 1, false, true, false},
		{"versions side by side", rpc.Identity{Cluster: a, Node: 1, Version: 8, Least: 7}, rpc.Identity{Cluster: a, Node: 2, Version: 7, Least: 6}, 1, false, true, true},
		{"a finalised cluster", rpc.Identity{Cluster: a, Node: 1, Version: 8, Least: 8}, rpc.Identity{Cluster: a, Node: 2, Version: 7, Least: 6}, 1, true, false, false},
		{"a node of a finalised cluster", rpc.Identity{Cluster: a, Node: 1, Version: 7, Least: 6}, rpc.Identity{Cluster: a, Node: 2, Version: 8, Least: 8}, 1, true, false, false},
		{"two versions apart", rpc.Identity{Cluster: a, Node: 1, Version: 8, Least: 7}, rpc.Identity{Node: 2, Version: 6, Least: 5}, 1, true, false, false},
		{"the first version", rpc.Identity{Cluster: a, Node: 1, Version: 2, Least: 1}, rpc.Identity{Cluster: a, Node: 2}, 1, false, true, true},
		{"the first version, finalised", rpc.Identity{Cluster: a, Node: 1}, rpc.Identity{Cluster: a, Node: 2, Version: 2, Least: 2}, 1, true, false, false},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var logs [2]bytes.Buffer
		var logger [2]*slog.Logger
		for i := range logs {
			logger[i] = slog.New(slog.NewTextHandler(&logs[i], nil))
		}
		s := rpc.Listen(ln, trust, func() rpc.Identity { return c.server }, logger[0])
		register(s)
		s.Guests("who")
		s.Serve()
		d := &rpc.Dialer{Trust: trust, Self: func() rpc.Identity { return c.dialer }, Log: logger[1]}
		p := rpc.NewPeers(d, func(uint64) (string, bool) { return ln.Addr().String(), true })
		for range 3 {
			who, err := p.Action(context.Background(), c.to, "who", nil)
			if (err == nil) != c.open {
				t.Errorf("%s: %v", c.name, err)
			}
			if c.open && string(who) != fmt.Sprint(c.dialer.Node) {
				t.Errorf("%s: the caller is %s", c.name, who)
			}
			if _, err := rpc.Call[int](context.Background(), p, c.to, "double", 1); (err == nil) != c.closed {
				t.Errorf("%s: %v", c.name, err)
			}
			raw, err := d.DialRaft(context.Background(), c.to, ln.Addr().String())
			if err == nil {
				raw.Close()
			}
			if (err == nil) != c.closed || err != nil && !pgerr.Is(err, pgerr.ConnectionRejected) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		p.Close()
		s.Close()
		if c.refused { // logged once on each side
			for i := range logs {
				if n := bytes.Count(logs[i].Bytes(), []byte("refused")); n != 1 {
					t.Errorf("%s: %d lines in log %d", c.name, n, i)
				}
			}
		}
	}
}

// TestHandshakeGarbage sends handshakes that a node never sends.
func TestHandshakeGarbage(t *testing.T) {
	s, p, _ := pair(t, nil, register)
	for _, b := range [][]byte{{'X'}, {'G'}, {'G', 255, 255, 255, 255}, {'R', 3, 0, 0, 0, 1, 2, 3}, {'R', 4, 0, 0, 0, 200, 200, 200, 200}, bytes.Repeat([]byte{'G', 16}, 4000)} {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Write(b)
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
		c.Close()
	}
	if n, err := rpc.Call[int](context.Background(), p, 1, "double", 4); n != 8 || err != nil {
		t.Fatal(err)
	}
}

// TestManyHandshakes: the number of connections that stop within their handshake is bounded: the
// oldest are closed long before the handshake's timeout, and another node can still connect.
func TestManyHandshakes(t *testing.T) {
	s, p, _ := pair(t, nil, register)
	var all []net.Conn
	for range 300 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	_ = all[0].SetReadDeadline(time.Now().Add(4 * time.Second)) // the handshake's timeout is 5 s
	if _, err := all[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the first of 300 connections: %v", err)
	}
	if _, err := p.Action(context.Background(), 1, "who", nil); err != nil {
		t.Error(err)
	}
}

// TestLongHello: of a TLS hello that never ends only the beginning is read.
func TestLongHello(t *testing.T) {
	s, p, _ := pair(t, peerTLS(t), register)
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	record := append([]byte{22, 3, 1, 16384 >> 8, 0}, make([]byte, 16384)...) // a record of a handshake
	first := bytes.Clone(record)
	copy(first[5:], []byte{1, 0, 60_000 >> 8, 60_000 & 0xff}) // a hello of 60,000 bytes
	if _, err := c.Write(slices.Concat(first, record, record[:5])); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(4 * time.Second)) // the handshake's timeout is 5 s
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("more than 32 KiB of a hello are awaited")
	}
	if _, err := p.Action(context.Background(), 1, "who", nil); err != nil {
		t.Error(err)
	}
}
