// Package session is what the wire asks of the engine: the interfaces between
// the protocol (package pg) and whatever runs statements. cmd joins the two.
//
//	Engine ─Connect─▶ Session ─Prepare─▶ Statement ─Bind─▶ Portal ─Next─▶ batches
//	                     │                                    ├─ CopyIn: bytes from the client
//	                     └─ Sync ends the implicit transaction└─ CopyOut: bytes to the client
//
// Batches stream: a Portal makes the next when it is asked. The engine knows
// nothing of messages, formats or sockets; the wire knows nothing of plans.
package session
