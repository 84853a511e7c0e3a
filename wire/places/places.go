package places

import "slices"

// Places are those of a server's connections that anyone can make: they have not logged in, or need
// no login. One is silent while its client's message is next, else the server works for it. Each of
// the two kinds has its own places, so that silent sockets displace no active client; when all are
// taken a new connection gets the place of the one that has had it longest.
type Places[C comparable] struct {
	Each            int   // places of each kind, at least 1
	Dropped         int64 // connections that were pushed out
	silent, working []C   // the longest there first
}

// Enter adds a connection, or moves it, and returns the one that it pushed out, if any.
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

// Leave removes a connection that is there, or is not.
func (p *Places[C]) Leave(c C) {
	for _, q := range []*[]C{&p.silent, &p.working} {
		if i := slices.Index(*q, c); i >= 0 {
			*q = slices.Delete(*q, i, i+1)
		}
	}
}
