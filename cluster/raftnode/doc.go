// Package raftnode makes a node a member of the cluster: it runs Raft (Ongaro
// and Ousterhout, "In search of an understandable consensus algorithm", 2014;
// hashicorp/raft) over the cluster's port, forwards proposals and reads to the
// leader, admits and removes members, and records which members are alive.
//
//	Propose ─┬─ only member ─▶ log (fsync) ─▶ meta.FSM, and raft.Apply afterwards (solevoter.go)
//	         ├─ leader here ─▶ raft.Apply ─▶ log (fsync) ─▶ majority ─▶ meta.FSM
//	         └─ elsewhere ──▶ rpc to the leader, then wait until applied here
//	ReadIndex ─ leader proves that it leads ─▶ its applied index ─▶ wait for it here
//
//	every node ── ping each half second ──▶ every other: who is alive, the oldest
//	                                        version it reads, what it reports
//	leader ── OnLead functions run while it leads (repair, jobs, …)
//
// The members are those of the catalog; the leader changes raft's configuration to
// match them, one step after the other (voters.go): a member enters as a learner that
// no commit waits for, and an odd number of up to five of them vote. The log and votes
// are in a bbolt database, the newest entries in a journal in front of it (journal.go),
// snapshots are files, a small file holds the node's identity and its cluster (dir.go),
// and another how far this node and the others are known to have come (marks.go):
//
//	data/LOCK  data/identity  data/marks  data/cluster-secret
//	data/raft/log.db  data/raft/journal  data/raft/snapshots/
//
// What it does otherwise than hashicorp/raft, why each of it is safe and how it is turned off is
// in deviations.go.
//
// The meaning of the commands is package meta's; this one does not interpret them.
package raftnode
