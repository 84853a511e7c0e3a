//go:build race

package node

// slower multiplies the heartbeat interval, and the time after which a silent node counts as dead.
// With the race detector a node can be silent for a second while other packages' tests run.
const slower = 4
