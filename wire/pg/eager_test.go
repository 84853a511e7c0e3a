//go:build unix

package pg

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

func pairOf(t *testing.T, latest *atomic.Pointer[eager]) (*eager, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); nc.Close() })
	e := newEager(nc, latest).(*eager)
	return e, client
}

// TestEager sends messages of all lengths to two eager readers, which poll their socket for a short
// while before they park in the network poller, and of which the one that read last may poll: what
// arrives is what was sent, and deadlines and the end of the connection are reported.
func TestEager(t *testing.T) {
	var latest atomic.Pointer[eager]
	done := make(chan error, 2)
	for i := range 2 {
		e, client := pairOf(t, &latest)
		r := rand.New(rand.NewPCG(uint64(i), 1))
		go func() {
			done <- func() error {
				for range 300 {
					m := make([]byte, 1+r.IntN(9000))
					for k := range m {
						m[k] = byte(r.Uint32())
					}
					go client.Write(m)
					got := make([]byte, len(m))
					if _, err := io.ReadFull(e, got); err != nil {
						return err
					} else if !bytes.Equal(got, m) {
						return errors.New("another message came")
					}
				}
				e.SetReadDeadline(time.Now().Add(time.Millisecond))
				if _, err := e.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
					return errors.Join(errors.New("no deadline"), err)
				}
				e.SetReadDeadline(time.Time{})
				client.Close()
				if _, err := e.Read(make([]byte, 1)); err != io.EOF {
					return errors.Join(errors.New("no end"), err)
				}
				return nil
			}()
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestEagerGivesWay: a reader polls only if its client's previous message came quickly and no other
// reader received a message since; otherwise it parks at once.
func TestEagerGivesWay(t *testing.T) {
	var latest atomic.Pointer[eager]
	e, _ := pairOf(t, &latest)
	other, _ := pairOf(t, &latest)
	looks := func() (n int) {
		raw, _ := e.Conn.(*net.TCPConn).SyscallConn()
		e.p = make([]byte, 1)
		raw.Control(func(fd uintptr) {
			from := time.Now()
			if e.try(fd) {
				t.Error("there is a message")
			}
			if time.Since(from) >= eagerFor {
				n++
			}
		})
		return n
	}
	latest.Store(e)
	if e.took = eagerFor; looks() != 1 {
		t.Error("a quick client is not looked for")
	}
	// Parking at once takes no time, but on a busy machine a try may seem long: one short try of many
	// is enough.
	parks := func() bool {
		for range 100 {
			if looks() == 0 {
				return true
			}
		}
		return false
	}
	if e.took = eagerFor + 1; !parks() {
		t.Error("a slow client is looked for")
	}
	e.took = eagerFor
	latest.Store(other)
	if !parks() {
		t.Error("a client is looked for although another has sent")
	}
}
