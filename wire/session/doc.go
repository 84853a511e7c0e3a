// Package session defines the interfaces between the protocol (package pg) and the engine that runs
// statements. cmd joins the two.
//
//	Engine ─Connect─▶ Session ─Prepare─▶ Statement ─Bind─▶ Portal ─Next─▶ batches
//	                     │                                    ├─ CopyIn: bytes from the client
//	                     └─ Sync ends the implicit transaction└─ CopyOut: bytes to the client
//
// Batches stream: a Portal computes the next on demand. The engine knows nothing of messages,
// formats or sockets; the wire knows nothing of plans.
package session
