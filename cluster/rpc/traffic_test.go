package rpc

import (
	"io"
	"net"
	"testing"
)

// Every byte is counted once, also those of buffers that are written at once.
func TestTraffic(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var at, from Traffic
	got := make(chan int, 1)
	go func() {
		c, err := at.Listener(ln).Accept()
		if err != nil {
			got <- -1
			return
		}
		b, _ := io.ReadAll(c)
		got <- len(b)
	}()
	raw, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := from.of(raw)
	_, _ = c.Write(make([]byte, 100))
	n, err := (&net.Buffers{make([]byte, 4), make([]byte, 2000)}).WriteTo(c)
	if err != nil || n != 2004 {
		t.Fatal(n, err)
	}
	wrote(c, n)
	_ = c.Close()
	if n := <-got; n != 2104 || from.Out.Load() != 2104 || at.In.Load() != 2104 {
		t.Errorf("read %d, counted %d sent and %d received", n, from.Out.Load(), at.In.Load())
	}
	_ = ln.Close()
}
