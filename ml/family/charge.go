package family

// Charge is the memory that a driver or a worker has charged on its node. It is for one
// goroutine at a time.
type Charge struct {
	node  *Node
	bytes int64
}

// Charge returns a Charge of 0 bytes.
func (n *Node) Charge() Charge { return Charge{node: n} }

// Set changes the charge to bytes, before the memory is allocated. A decrease cannot
// fail.
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
