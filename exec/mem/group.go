package mem

// NewGroup makes the pool of a group of statements within a node's: its statements are children of it. Together they hold
// at most limit bytes (0: no limit of their own, see SetLimit).
func NewGroup(node *Pool, name string, limit int64) *Pool { return within(node, name, limit, true) }

// Rename changes the name of a group.
func Rename(group *Pool, name string) {
	group.mu.Lock()
	defer group.mu.Unlock()
	group.name = name
}

// Empty reports whether nobody has a part of a group.
func Empty(group *Pool) bool {
	group.mu.Lock()
	defer group.mu.Unlock()
	return len(group.children) == 0 && len(group.accounts) == 0
}

// groupName is the name of the group whose limit is that of a pool, "" where that is another's.
func groupName(p *Pool) string {
	limit := p.Limit()
	for q := p; q.parent != nil; q = q.parent {
		if q.shared && q.limit.Load() == limit {
			q.mu.Lock() // it may be renamed
			defer q.mu.Unlock()
			return q.name
		}
	}
	return ""
}
