package pg

import "slices"

// unopened are the connections that have no session yet. One is silent while its client's message
// is next, else the server works for it. Each of the two kinds has its own places, so that silent
// sockets displace no active client; when all are taken a new connection gets the place of the one
// that has had it longest.
type unopened struct {
	places          int     // of each, at least 1
	silent, working []*conn // the longest there first
	dropped         int64
}

// enter adds a connection and returns the one that it pushed out, nil for none.
func (u *unopened) enter(c *conn, working bool) (out *conn) {
	u.leave(c)
	q := &u.silent
	if working {
		q = &u.working
	}
	if len(*q) >= u.places {
		out = (*q)[0]
		u.leave(out)
		u.dropped++
	}
	*q = append(*q, c)
	return out
}

func (u *unopened) leave(c *conn) {
	for _, q := range []*[]*conn{&u.silent, &u.working} {
		if i := slices.Index(*q, c); i >= 0 {
			*q = slices.Delete(*q, i, i+1)
		}
	}
}
