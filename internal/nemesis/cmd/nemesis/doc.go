// Command nemesis runs internal/nemesis: it injects faults into a cluster of real
// processes and checks that nothing was lost.
package main
