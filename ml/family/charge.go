package family

// Charge is what a driver or a worker has charged on its node. It is for one
// goroutine at a time.
type Charge struct {
	node  *Node
	bytes int64
}

// Charge makes one of nothing.
func (n *Node) Charge() Charge { return Charge{node: n} }

// Set charges what there is to be from now on, before it is made. Less than before
// cannot fail.
func (h *Charge) Set(bytes int64) error {
	if bytes == h.bytes {
		return nil
	}
	if err := h.node.Grow(bytes - h.bytes); err != nil {
		return err
	}
	h.bytes = bytes
	return nil
}
