package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// mesh is the network between the nodes: each node advertises a port of the mesh, which
// forwards bytes to the port where the node listens. A gate for each direction of each
// pair can hold them back, like a network whose lost packets are retransmitted.
type mesh struct {
	ports []*port
	gates [][]*gate // of the bytes from one node to another
	pid   func(node int) int
	wg    sync.WaitGroup
}

// port takes the connections to one node.
type port struct {
	ln net.Listener

	mu     sync.Mutex
	target string
	conns  map[*relay]struct{}
	closed bool
}

// relay is an accepted connection and the one to the node.
type relay struct {
	from, to int
	done     chan struct{}
	once     sync.Once
	conns    [2]net.Conn
}

func (c *relay) close() {
	c.once.Do(func() {
		close(c.done)
		for _, n := range c.conns {
			if n != nil {
				_ = n.Close()
			}
		}
	})
}

// newMesh opens a port for each node; pid returns a node's process id, by which the
// sender of a connection is identified.
func newMesh(nodes int, pid func(node int) int) (*mesh, error) {
	m := &mesh{pid: pid}
	for range nodes {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			m.close()
			return nil, err
		}
		m.ports = append(m.ports, &port{ln: ln, conns: map[*relay]struct{}{}})
		row := make([]*gate, nodes)
		for i := range row {
			row[i] = newGate()
		}
		m.gates = append(m.gates, row)
	}
	for i := range m.ports {
		m.wg.Go(func() { m.accept(i) })
	}
	return m, nil
}

func (m *mesh) addr(node int) string { return m.ports[node].ln.Addr().String() }

// serve sets the address where a node listens now.
func (m *mesh) serve(node int, target string) {
	p := m.ports[node]
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
}

// heal opens all gates.
func (m *mesh) heal() {
	for _, row := range m.gates {
		for _, g := range row {
			g.set(true, 0)
		}
	}
}

// cut shuts all gates.
func (m *mesh) cut() {
	for _, row := range m.gates {
		for _, g := range row {
			g.set(false, 0)
		}
	}
}

// reset ends all connections, as after a long outage.
func (m *mesh) reset() {
	for _, p := range m.ports {
		p.mu.Lock()
		for c := range p.conns {
			c.close()
		}
		p.mu.Unlock()
	}
}

func (m *mesh) close() {
	for _, p := range m.ports {
		_ = p.ln.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
	}
	m.heal()
	m.reset()
	m.wg.Wait()
}

func (m *mesh) accept(to int) {
	p := m.ports[to]
	for {
		conn, err := p.ln.Accept()
		if err != nil {
			return
		}
		m.wg.Go(func() {
			from := m.sender(conn.RemoteAddr())
			if from < 0 || from == to {
				_ = conn.Close()
				return
			}
			m.carry(p, &relay{from: from, to: to, done: make(chan struct{}), conns: [2]net.Conn{conn}})
		})
	}
}

// carry connects to the node once both directions are open, as a handshake would, and
// forwards bytes both ways.
func (m *mesh) carry(p *port, c *relay) {
	there, back := m.gates[c.from][c.to], m.gates[c.to][c.from]
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.close()
		return
	}
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	defer func() {
		c.close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	if !there.pass(c.done) || !back.pass(c.done) {
		return
	}
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	conn, err := net.DialTimeout("tcp4", target, time.Second)
	if err != nil {
		return
	}
	p.mu.Lock() // reset looks at conns
	c.conns[1] = conn
	p.mu.Unlock()
	select {
	case <-c.done: // reset meanwhile, before conn was set
		_ = conn.Close()
		return
	default:
	}
	var wg sync.WaitGroup
	for _, way := range []struct {
		from, to net.Conn
		g        *gate
	}{{c.conns[0], conn, there}, {conn, c.conns[0], back}} {
		wg.Go(func() {
			defer c.close()
			b := make([]byte, 32<<10)
			for {
				n, err := way.from.Read(b)
				if n > 0 {
					if !way.g.pass(c.done) {
						return
					}
					if _, err := way.to.Write(b[:n]); err != nil {
						return
					}
				}
				if err != nil {
					// The end of a stream is held back like bytes.
					way.g.pass(c.done)
					return
				}
			}
		})
	}
	wg.Wait()
}

// sender finds the node whose process has the socket with a local address.
func (m *mesh) sender(addr net.Addr) int {
	inode, err := socketInode(addr.(*net.TCPAddr))
	for range 20 { // a long list may lack entries when it changes while being read
		if err == nil {
			break
		}
		inode, err = socketInode(addr.(*net.TCPAddr))
	}
	if err != nil {
		return -1
	}
	want := "socket:[" + inode + "]"
	for i := range m.ports {
		dir := fmt.Sprintf("/proc/%d/fd", m.pid(i))
		fds, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && to == want {
				return i
			}
		}
	}
	return -1
}

var errNoSocket = errors.New("there is no such socket")

// socketInode finds the inode of the socket with a local address of 127.0.0.1.
func socketInode(addr *net.TCPAddr) (string, error) {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	defer f.Close()
	want := fmt.Sprintf("0100007F:%04X", addr.Port)
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) > 9 && w[1] == want && w[9] != "0" {
			return w[9], nil
		}
	}
	return "", errNoSocket
}

// gate passes bytes, delayed or not at all.
type gate struct {
	mu    sync.Mutex
	open  chan struct{} // closed while it is open
	shut  bool
	delay time.Duration
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) set(open bool, delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delay = delay
	switch {
	case open && g.shut:
		close(g.open)
	case !open && !g.shut:
		g.open = make(chan struct{})
	}
	g.shut = !open
}

// pass waits until bytes may pass; it returns false if done was closed first.
func (g *gate) pass(done <-chan struct{}) bool {
	for {
		g.mu.Lock()
		open, shut, delay := g.open, g.shut, g.delay
		g.mu.Unlock()
		if !shut {
			if delay == 0 {
				return true
			}
			select {
			case <-time.After(delay):
				return true
			case <-done:
				return false
			}
		}
		select {
		case <-open:
		case <-done:
			return false
		}
	}
}
