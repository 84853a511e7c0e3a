package plan

import "slices"

// Unread divides a statement's buffers into those that some plan may read, and the data-modifying ones
// of which none reads the rows: PostgreSQL runs these last, beginning with the last.
func Unread(defs []BufferDef, root Node) (read, unread []BufferDef) {
	if len(defs) == 0 {
		return nil, nil
	}
	seen := map[int]bool{}
	var walk func(n Node)
	walk = func(n Node) {
		if n == nil {
			return
		}
		if b, ok := n.(*Buffer); ok {
			seen[b.ID] = true
		}
		for _, k := range n.Children() {
			walk(k)
		}
	}
	walk(root)
	for _, d := range defs {
		walk(d.Root)
		if d.DML != nil {
			walk(d.DML.Source)
		}
	}
	for _, d := range defs {
		if d.DML != nil && !seen[d.ID] {
			unread = append(unread, d)
		} else {
			read = append(read, d)
		}
	}
	slices.Reverse(unread)
	return read, unread
}
