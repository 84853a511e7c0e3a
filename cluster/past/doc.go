// Package past keeps what the catalog was: each node writes down the states and commits that it
// applies, and makes of them the state of any time since.
//
//	time  ──────────────────────────────────────────────────▶
//	files     state 40           state 977        (16 MiB, 50,000 commits)
//	          commits 41 … 512 │ 513 … 977 │ 978 … 1010      one is begun with each state and each start
//	                                           ▲
//	At(t) =   state 977 and its commits up to t ┘
//
// The files are derived from the log of package raftnode: nothing of them is synced, each record has a
// checksum and names the version that it follows. What a crash has torn is not read, and a gap is
// never read over: times in it are refused.
package past
