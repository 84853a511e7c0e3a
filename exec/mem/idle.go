package mem

// Idle bytes are of what a node keeps in case it is asked for again, such as
// models that no statement uses. They are charged like all others and count as
// free: nobody spills or waits for them, and whoever needs them gets them.

// idle are a node's idle bytes, and who lets go of them.
type idle struct {
	bytes func() int64
	shed  func(n int64)
}

// SetIdle names who keeps what is idle, before the node works: bytes tells how much
// that is, and shed lets go of at least n bytes of it, if there are so many, which
// give their accounts back. Both are called from any goroutine that asks for
// memory, and must not ask for any.
func (p *Pool) SetIdle(bytes func() int64, shed func(n int64)) { p.idle.Store(&idle{bytes, shed}) }

// idleBytes are those of a node.
func (p *Pool) idleBytes() int64 {
	if i := p.idle.Load(); i != nil {
		return i.bytes()
	}
	return 0
}

// shedFor lets go of what is idle for n bytes that a node has not; false where
// nothing is.
func (p *Pool) shedFor(n int64) bool {
	i := p.idle.Load()
	if i == nil || i.bytes() == 0 {
		return false
	}
	i.shed(max(p.used.Load()+p.beyond.Load()+n-int64(FailShare*float64(p.limit.Load())), 1))
	return true
}
