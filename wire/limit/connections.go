package limit

import "slices"

// Places are the connections of a server that anyone can open: their clients have not logged in, or
// need not. A connection is silent while the server waits for its client, and working while the client
// waits for the server. Each of these two kinds has its own limit, so that silent connections cannot
// displace active clients; a new connection beyond the limit replaces the oldest of its kind.
type Places[C comparable] struct {
	Each            int   // places of each kind, at least 1
	Dropped         int64 // connections that were replaced
	silent, working []C   // the oldest first
}

// Enter adds a connection, or changes its kind, and returns the connection that it replaces, if any.
func (p *Places[C]) Enter(c C, working bool) (out C, pushed bool) {
	p.Leave(c)
	q := &p.silent
	if working {
		q = &p.working
	}
	if pushed = len(*q) >= p.Each; pushed {
		out = (*q)[0]
		p.Leave(out)
		p.Dropped++
	}
	*q = append(*q, c)
	return out, pushed
}

// Leave removes a connection, if it is there.
func (p *Places[C]) Leave(c C) {
	for _, q := range []*[]C{&p.silent, &p.working} {
		if i := slices.Index(*q, c); i >= 0 {
			*q = slices.Delete(*q, i, i+1)
		}
	}
}
