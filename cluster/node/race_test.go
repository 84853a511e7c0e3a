//go:build race

package node

// slower is how much longer a node of a test may be silent: with the race detector it
// is silent for a second where other packages' tests have the cores.
const slower = 4
