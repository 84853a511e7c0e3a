// Package nemesis hurts a cluster of real processes while clients write, read
// and train, and then looks whether what it promised holds.
//
//	seed, round ─▶ plan ─▶ faults: kill, pause, restart, partition, disk, …
//	                         │ hurt, hold, heal
//	   workloads ────────────┼──▶ cluster: processes, mesh between their ports
//	   what was answered     │
//	                         ▼
//	            checks, once all nodes are ready again
//
// A round is: faults come and go while workloads run, and all nodes run again. A
// few rounds share a check, a stretch: workloads end, the nodes become ready, and
// every workload compares what every node answers with what it was told before.
// Damage of what is to last has a stretch of its own. What was acknowledged is there once; what was refused is not;
// what is unknown (40003, a lost connection) may be either, but whole, and is
// one of the two for good from then on. Beside that: no process ends by itself,
// no answer has a code of class XX, no session outlives its client, and every
// segment lies where the catalog says, with the hash it says.
//
// Clocks that jump and disks that are slow to sync take a program of Build's
// (package patch), and Linux. Not done: jumps of the monotonic clock, slow reads,
// and packets that are really lost: the mesh holds bytes back, and half of the
// time ends the connections.
//
// All choices come from the seed and the number of the round, so a plan can be
// carried out again; what the machine makes of it is not ours to fix. Rounds
// share a cluster until it has served Options.Fresh of them.
//
//	plan.go        seed and round to faults           run.go       rounds
//	cluster.go     nodes                              mesh.go      the network between them
//	build.go       the program                        patch        its clock and its disk
//	fault*.go      the faults                         check.go     checks of the whole cluster
//	session.go     a client and what it was told      the rest     one workload each
package nemesis
