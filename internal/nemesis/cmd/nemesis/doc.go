// Command nemesis runs internal/nemesis: a cluster of real processes, faults,
// and the proof that nothing was lost.
package main
