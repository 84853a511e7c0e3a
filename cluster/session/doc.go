// Package session is a client's session: who it is, its settings, its transaction, its
// prepared statements, portals and cursors.
//
//	Registry ── sessions by key ──▶ Session
//	                                   │
//	     text ─parse─▶ Statement ─▶ Prepared ─Bind─▶ Portal ─▶ Execution ─▶ Result
//	                       │           │                                       ▲
//	                       └─▶ Command ┴───────────────── Run ─────────────────┘
//
// A Command is what a statement does; Commands, which the node brings, finds it. A portal
// runs it in the session's transaction, which takes back what a failed one changed, and at
// its end carries out what foreign keys ask for.
package session
