// Command nemesis injects faults into a cluster of real processes while clients write,
// read and train, and then checks that the cluster's guarantees hold.
//
//	seed, round ─▶ plan ─▶ faults: kill, pause, restart, partition, disk, …
//	                         │ hurt, hold, heal
//	   workloads ────────────┼──▶ cluster: processes, mesh between their ports
//	   what was answered     │
//	                         ▼
//	            checks, once all nodes are ready again
//
// A round is: faults come and go while workloads run, and all nodes run again. A few
// rounds share a check, a stretch: workloads end, the nodes become ready, and every
// workload compares what every node answers with the outcomes it was given before.
// Damage to durable files has a stretch of its own. What was acknowledged is there
// once; what was refused is not; what is unknown (40003, a lost connection) may be
// either, but atomically, and stays so from then on. In addition, no process ends by
// itself, no error has a code of class XX, no session outlives its client, and every
// segment is where the catalog says, with the right hash.
//
// Backups are made and restored in rounds too, from a directory and from a bucket that fails: all of it as a new
// cluster, to a moment, or a schema beside the one that changes. What comes back is compared with all states that
// schemas had, and when (schemas.go): they must have been so, all at one time, and at the moment asked for.
//
// With --storage a cluster's files are in the bucket, little of them on disks; in the end all nodes are lost, and an empty
// one goes on with what is there.
//
// With the release before (--mixed) a cluster begins with that program. Nodes change to the other one and back, under all
// of this, until a fault finalises the upgrade: then the cluster gets what the older program does not know, an archive too.
//
// Clock jumps and slow syncs need a program built by Build (package patch), and Linux.
// Not done: jumps of the monotonic clock, slow reads, and packets that are really lost:
// the mesh holds bytes back, and half of the time ends the connections.
//
// All choices come from the seed and the number of the round, so a plan can be
// repeated; the machine's scheduling cannot. Rounds share a cluster until it has served
// Options.Fresh of them.
//
//	plan.go        seed and round to faults           run.go       rounds
//	cluster.go     nodes                              mesh.go      the network between them
//	build.go       the program                        patch        its clock and its disk
//	fault*.go      the faults                         check.go     checks of the whole cluster
//	session.go     a client and what it was told      backups.go   backups, and what they give back
//	                                                  the rest     one workload each
package main
