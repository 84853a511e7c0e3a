package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// lined makes two nodes, and returns the caller's side and the number of connections made.
func lined(t *testing.T, register func(*rpc.Server)) (*rpc.Peers, *atomic.Int32) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.Listen(ln, trust, rpc.Fixed(catalog.ClusterID{1}, 1), slog.New(slog.DiscardHandler))
	register(s)
	s.Serve()
	n := new(atomic.Int32)
	d := &rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, 9), Net: func(ctx context.Context, addr string) (net.Conn, error) {
		n.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}}
	p := rpc.NewPeers(d, func(uint64) (string, bool) { return ln.Addr().String(), true })
	t.Cleanup(func() { p.Close(); s.Close() })
	return p, n
}

// echo registers a handler that returns what it receives, with exceptions for certain requests.
func echo(s *rpc.Server) {
	s.RegisterPut("echo", func(ctx context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error) {
		out := bytes.Clone(header)
		for {
			b, err := recv()
			if err == io.EOF {
				return out, nil
			}
			if err != nil {
				return nil, err
			}
			out = append(out, b...)
			rpc.Free(b)
			if bytes.Equal(header, []byte("first")) {
				return out, nil
			}
			if bytes.Equal(header, []byte("fail")) {
				return nil, pgerr.New(pgerr.DiskFull, "full")
			}
		}
	})
}

// TestLinesAreUsedAgain sends streams of chunks of all lengths, one at a time and concurrently: all
// arrive unchanged, and a finished stream's connection is reused, so that there are only as many
// connections as concurrent streams.
func TestLinesAreUsedAgain(t *testing.T) {
	p, dialed := lined(t, echo)
	ctx := context.Background()
	send := func(r *rand.Rand, header string) {
		put, err := p.Put(ctx, 1, "echo", []byte(header))
		if err != nil {
			t.Error(err)
			return
		}
		defer put.Cancel()
		want := []byte(header)
		buf := make([]byte, 600<<10)
		for range r.IntN(5) {
			chunk := buf[:[]int{0, 1, 1000, 16 << 10, 16<<10 + 1, 256 << 10, len(buf)}[r.IntN(7)]]
			for i := range chunk { // the sender may overwrite its buffer after each send
				chunk[i] = byte(r.Uint32())
			}
			want = append(want, chunk...)
			if err := put.Send(chunk); err != nil {
				t.Error(err)
				return
			}
		}
		last := fmt.Append(nil, r.Uint64())[:r.IntN(2)]
		if got, err := put.FinishWith(last); err != nil || !bytes.Equal(got, append(want, last...)) {
			t.Errorf("%d bytes came back as %d, %v", len(want), len(got), err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 50 {
		send(r, fmt.Sprint("header", i))
	}
	if n := dialed.Load(); n != 1 {
		t.Errorf("streams one after the other took %d connections", n)
	}
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(k)))
			for range 20 {
				send(r, fmt.Sprint(k))
			}
		})
	}
	wg.Wait()
	if n := dialed.Load(); n > 8 {
		t.Errorf("eight streams at once took %d connections", n)
	}
	p.Drop(1)
	send(r, "after")
}

// TestLinesThatFailed: an error of the handler before the sender has sent all is returned to the
// sender, by a later send or at the end; the next stream on that connection works.
func TestLinesThatFailed(t *testing.T) {
	p, _ := lined(t, echo)
	ctx := context.Background()
	for range 20 {
		put, err := p.Put(ctx, 1, "echo", []byte("fail"))
		for i := 0; err == nil && i < 100; i++ {
			err = put.Send(make([]byte, 300<<10))
		}
		if err == nil { // all was sent before the answer had come
			_, err = put.Finish()
		}
		if !pgerr.Is(err, pgerr.DiskFull) {
			t.Fatal(err)
		}
		put.Cancel()
		put, err = p.Put(ctx, 1, "echo", []byte("fail"))
		if err == nil {
			_, err = put.FinishWith([]byte("x"))
		}
		if !pgerr.Is(err, pgerr.DiskFull) {
			t.Fatal(err)
		}
		put, err = p.Put(ctx, 1, "echo", []byte("first"))
		if err == nil {
			_, err = put.FinishWith([]byte("x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put, err := p.Put(ctx, 1, "nothing", nil)
	if err == nil {
		_, err = put.Finish()
	}
	if !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Fatal(err)
	}
}

// TestLinesThatAreCancelled: a handler's context ends when its caller is gone, whether or not the
// handler has read all; the caller gets the error of its own context.
func TestLinesThatAreCancelled(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error)
	p, dialed := lined(t, func(s *rpc.Server) {
		echo(s)
		s.RegisterPut("wait", func(ctx context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error) {
			for i := 0; ; i++ {
				_, err := recv()
				if err == io.EOF {
					break
				}
				if err != nil {
					ended <- err
					return nil, err
				}
				if i == 0 {
					close(began)
				}
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
	})
	for _, whole := range []bool{false, true} {
		began = make(chan struct{})
		ctx, cancel := context.WithCancel(context.Background())
		put, err := p.Put(ctx, 1, "wait", nil)
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			go func() { <-began; cancel() }()
			_, err = put.FinishWith([]byte("x"))
		} else {
			if err := put.Send([]byte("x")); err != nil {
				t.Fatal(err)
			}
			<-began
			cancel()
			for err == nil {
				err = put.Send([]byte("x"))
			}
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller: %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler: %v", err)
		}
	}
	before := dialed.Load()
	put, err := p.Put(context.Background(), 1, "echo", nil)
	if err == nil {
		_, err = put.Finish()
	}
	if err != nil || dialed.Load() != before+1 {
		t.Errorf("%v: a line that was broken off is used again", err)
	}
}
