// Package session is a client's session: who it is, its settings, its transaction, its
// prepared statements, portals and cursors.
//
//	Registry ── sessions by key ──▶ Session
//	                                   │
//	     text ─parse─▶ Statement ─▶ Prepared ─Bind─▶ Portal ─▶ Execution ─▶ Result
//	                       │           │                                       ▲
//	                       └─▶ Command ┴───────────────── Run ─────────────────┘
//
// A Command is what a statement does. Those about the session itself are here; all
// others are found by Commands, which the node brings. A portal runs its command in the
// session's transaction, which takes back what a failed one changed, and at its end
// carries out what foreign keys ask for.
package session
