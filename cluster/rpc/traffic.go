package rpc

import (
	"io"
	"net"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Traffic counts the bytes of a node's connections to other nodes.
type Traffic struct{ In, Out atomic.Int64 }

// Listener counts the connections of a listener.
func (t *Traffic) Listener(ln net.Listener) net.Listener { return &countingListener{ln, t} }

type countingListener struct {
	net.Listener
	t *Traffic
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.t.of(c), nil
}

// of counts a connection from now on.
func (t *Traffic) of(c net.Conn) net.Conn {
	if tcp, ok := c.(*net.TCPConn); ok && t != nil {
		return &countedConn{tcp, t}
	}
	return c
}

// countedConn is a connection that is counted. It is still one to which net.Buffers are written at once; whoever
// does that counts them with wrote.
type countedConn struct {
	*net.TCPConn
	t *Traffic
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.t.In.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.t.Out.Add(int64(n))
	return n, err
}

// ReadFrom implements io.ReaderFrom.
func (c *countedConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := c.TCPConn.ReadFrom(r)
	c.t.Out.Add(n)
	return n, err
}

// WriteTo implements io.WriterTo.
func (c *countedConn) WriteTo(w io.Writer) (int64, error) {
	n, err := c.TCPConn.WriteTo(w)
	c.t.In.Add(n)
	return n, err
}

// wrote counts bytes that were written past Write.
func wrote(c net.Conn, n int64) {
	if c, ok := c.(*countedConn); ok {
		c.t.Out.Add(n)
	}
}

var trafficDesc = prometheus.NewDesc("tributary_network_bytes_total", "Bytes of the connections of this node to other nodes.", []string{"direction"}, nil)

// Describe implements prometheus.Collector.
func (t *Traffic) Describe(ch chan<- *prometheus.Desc) { ch <- trafficDesc }

// Collect implements prometheus.Collector.
func (t *Traffic) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(trafficDesc, prometheus.CounterValue, float64(t.In.Load()), "in")
	ch <- prometheus.MustNewConstMetric(trafficDesc, prometheus.CounterValue, float64(t.Out.Load()), "out")
}
