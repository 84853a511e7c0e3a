package pg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// header returns the beginning of a message that announces this length.
func header(typ byte, length uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{typ}, length)
}

func message(typ byte, body string) []byte {
	return append(header(typ, uint32(len(body)+4)), body...)
}

// TestMalformed sends messages that violate the protocol: each gets one clear error or the end of that
// connection, and other connections work.
func TestMalformed(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	other := connect(t, addr)
	for _, tc := range []struct {
		name, code string // SQLSTATE of the FATAL error
		bytes      []byte
	}{
		{"2 GiB", "08P01", header('Q', 1<<31-1)},
		{"negative length", "08P01", header('Q', 0xfffffff0)},
		{"length 3", "08P01", header('Q', 3)},
		{"length 0", "08P01", header('S', 0)},
		{"long names", "08P01", header('D', 20000)},
		{"unknown type", "08P01", header('!', 10)},
		{"zero", "08P01", make([]byte, 64)},
		{"startup again", "08P01", startupBytes(protocol30, "user", "ann")},
		{"password out of place", "08P01", message('p', "x\x00")},
		{"text", "08P01", []byte("HELP me\r\n")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := connect(t, addr)
			c.raw(tc.bytes)
			c.gone(tc.code)
			other.alive()
		})
	}
}

// TestMalformedBody sends messages with a valid length and an invalid body: each is an error, and the
// connection continues.
func TestMalformedBody(t *testing.T) {
	c := connect(t, serveFake(t, &fakeEngine{}, nil))
	sync := message('S', "")
	for _, tc := range []struct {
		name  string
		bytes []byte
	}{
		{"query without end", message('Q', "rows 1")},
		{"zero within a query", message('Q', "rows\x00 1\x00")},
		{"bytes after a query", message('Q', "rows 1\x00x")},
		{"empty parse", append(message('P', ""), sync...)},
		{"zero within parse", append(message('P', "\x00rows\x00 1\x00\x00\x00"), sync...)},
		{"parse counts", append(message('P', "\x00rows 1\x00\xff\xff\x00"), sync...)},
		{"bind without names", append(message('B', "\x01\x02\x03"), sync...)},
		{"bind formats", append(message('B', "\x00\x00\xff\xff\x00\x00"), sync...)},
		{"bind parameters", append(message('B', "\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00"), sync...)},
		{"bind length", append(message('B', "\x00\x00\x00\x00\x00\x01\x7f\xff\xff\xff\x01\x00\x00"), sync...)},
		{"bind negative length", append(message('B', "\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"), sync...)},
		{"describe", append(message('D', ""), sync...)},
		{"execute", append(message('E', "\x00\x00"), sync...)},
		{"close", append(message('C', "S"), sync...)},
		{"describe neither", append(message('D', "X\x00"), sync...)},
		{"close neither", append(message('C', "X\x00"), sync...)},
	} {
		c.raw(tc.bytes)
		got := c.until("ZI")
		if got[0] != "E ERROR 08P01" || len(got) != 2 {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
	c.alive()
}

// TestPanic: a panic in one session ends that connection only.
func TestPanic(t *testing.T) {
	e := &fakeEngine{}
	addr := serveFake(t, e, nil)
	other, c := connect(t, addr), connect(t, addr)
	c.send(&pgproto3.Query{String: "die"})
	c.gone("XX000")
	other.alive()
	eventually(t, "its session ends", func() bool { return e.open() == 1 })
}

// TestClaimedLength announces messages of a gigabyte on many connections and sends a few bytes of
// each: the server allocates for what has arrived, not for what was announced.
func TestClaimedLength(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	var before, after runtime.MemStats
	var clients []*client
	for range 32 {
		clients = append(clients, connect(t, addr))
	}
	runtime.ReadMemStats(&before)
	for _, c := range clients {
		c.raw(append(header('Q', 1<<30), make([]byte, 100)...))
	}
	other := connect(t, addr)
	other.alive()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32*growStep*2 {
		t.Errorf("%d bytes were allocated for %d that arrived", grown, 32*100)
	}
	for _, c := range clients {
		_ = c.nc.Close()
	}
	other.alive()
}

// budget is an account with a limit.
type budget struct {
	mu                *sync.Mutex
	held, limit, peak *int64
	mine              int64
}

func (b *budget) Grow(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if *b.held+n > *b.limit {
		return pgerr.New(pgerr.OutOfMemory, "out of memory")
	}
	*b.held += n
	*b.peak = max(*b.peak, *b.held)
	b.mine += n
	return nil
}

func (b *budget) Shrink(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.held -= n
	b.mine -= n
}

func (b *budget) Close() { b.Shrink(b.mine) }

// TestMessageMemory sends messages for which there is not enough memory: each is refused on its own,
// and all memory is released.
func TestMessageMemory(t *testing.T) {
	var mu sync.Mutex
	var held, peak int64
	limit := int64(8 << 20)
	e := &fakeEngine{}
	addr := serveFake(t, e, func(o *Options) {
		o.Account = func() Account { return &budget{mu: &mu, held: &held, limit: &limit, peak: &peak} }
	})
	c := connect(t, addr)
	blank := func(n int) string { return string(bytes.Repeat([]byte(" "), n)) }
	c.send(&pgproto3.Query{String: "rows 1" + blank(6<<20)})
	c.wants("T n:20/0", "D 1", "C SELECT 1", "ZI")
	c.send(&pgproto3.Query{String: "rows 1" + blank(20<<20)})
	c.wants("E ERROR 53200", "ZI")
	c.send(&pgproto3.Parse{Query: "rows 1" + blank(20<<20)}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	c.wants("E ERROR 53200", "ZI")
	c.send(&pgproto3.Query{String: "in"})
	c.wants("CopyInResponse")
	c.send(&pgproto3.CopyData{Data: make([]byte, 20<<20)}, &pgproto3.CopyDone{})
	c.wants("E ERROR 53200", "ZI")
	c.alive()
	c.send(&pgproto3.Terminate{})
	c.gone("")
	eventually(t, "the memory is given back", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return held == 0
	})
	if peak == 0 || peak > limit {
		t.Errorf("peak %d", peak)
	}
}

// TestGarbage sends random bytes, instead of the startup message and after it.
func TestGarbage(t *testing.T) {
	e := &fakeEngine{}
	addr := serveFake(t, e, func(o *Options) { o.StartupTimeout = time.Second })
	other := connect(t, addr)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		b := make([]byte, 1+r.IntN(300))
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		var c *client
		if i%2 == 0 {
			c = dial(t, addr)
		} else {
			c = connect(t, addr)
			b[0] = "QPBDECSHdcfFpX"[r.IntN(14)]
			if len(b) > 5 && r.IntN(4) > 0 {
				binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
			}
		}
		_, _ = c.nc.Write(b)
		_ = c.nc.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c.nc)
	}
	other.alive()
	eventually(t, "their sessions end", func() bool { return e.open() == 1 })
}

// TestAcceptGoesOn: the server keeps accepting after errors of the listener that pass, such as no free
// file descriptors.
func TestAcceptGoesOn(t *testing.T) {
	ln := &lame{Listener: listen(t), fail: 3}
	s := NewServer(Options{Engine: &fakeEngine{}, Log: slog.New(slog.DiscardHandler)})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	connect(t, ln.Addr().String()).alive()
	s.Close(t.Context())
	if err := <-served; err != nil {
		t.Error(err)
	}
}

type lame struct {
	net.Listener
	fail int
}

func (l *lame) Accept() (net.Conn, error) {
	if l.fail > 0 {
		l.fail--
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}

// FuzzReader reads arbitrary bytes that arrive at once and in parts: the reader neither panics nor
// buffers more than has arrived, and both times reads the same messages.
func FuzzReader(f *testing.F) {
	f.Add(message('Q', "rows 1\x00"))
	f.Add(append(message('P', "s\x00rows\x00\x00\x01\x00\x00\x00\x17"), message('B', "\x00s\x00\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00")...))
	f.Add(append(message('D', "Sx\x00"), message('E', "\x00\x00\x00\x00\x09")...))
	f.Add(append(message('d', "1\t2\n"), message('f', "why\x00")...))
	f.Add(header('d', 1<<20))
	f.Add(append(header('d', 20004), make([]byte, 20000)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 20
		run := func(src io.Reader) (types []byte, last error) {
			r := newReader(src, limit, nil)
			for {
				m, err := r.next()
				var no *refused
				if errors.As(err, &no) {
					types = append(types, '!', no.typ)
					continue
				}
				if err != nil {
					if cap(r.buf) > max(2*len(in), growStep) {
						t.Fatalf("%d bytes held for %d", cap(r.buf), len(in))
					}
					return types, err
				}
				out, err := m.Encode(nil)
				if err != nil {
					t.Fatal(err)
				}
				types = append(types, out[0])
			}
		}
		whole, err1 := run(bytes.NewReader(in))
		pieces, err2 := run(&drip{in: in})
		if !bytes.Equal(whole, pieces) || err1.Error() != err2.Error() {
			t.Fatalf("at once %q %v, in pieces %q %v", whole, err1, pieces, err2)
		}
	})
}

// drip is a reader that returns a few bytes at a time.
type drip struct {
	in []byte
	n  int
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.in) == 0 {
		return 0, io.EOF
	}
	d.n = (d.n+37)%1021 + 1
	n := copy(p, d.in[:min(d.n, len(d.in))])
	d.in = d.in[n:]
	return n, nil
}

// FuzzStartup sends arbitrary bytes as the first of a connection.
func FuzzStartup(f *testing.F) {
	f.Add(startupBytes(protocol30, "user", "ann", "database", "x"))
	f.Add(startupBytes(protocol32, "user", "ann", "_pq_.x", "y", "options", "-c a=b"))
	f.Add(append([]byte{0, 0, 0, 8, 4, 210, 22, 47}, startupBytes(protocol30, "user", "ann")...))
	f.Add([]byte{0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2})
	f.Fuzz(func(t *testing.T, in []byte) {
		e := &fakeEngine{}
		s := NewServer(Options{Engine: e})
		here, there := net.Pipe()
		s.start(there)
		go func() {
			_, _ = here.Write(in)
			// The client closes its side, since the server would wait for more.
			_ = here.SetReadDeadline(time.Now().Add(patience))
			_, _ = here.Write(message('X', ""))
			_ = here.Close()
		}()
		_, _ = io.Copy(io.Discard, here)
		s.Close(t.Context())
		if e.open() != 0 {
			t.Fatal("a session is left")
		}
	})
}
