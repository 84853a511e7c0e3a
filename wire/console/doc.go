// Package console serves the console: the pages in which data, statements, the cluster and
// models are looked at and worked with.
//
//	browser ──▶ Handler ─┬─ rooms' addresses ─▶ index.html     (the page reads the address)
//	                     ├─ /assets/…         ─▶ embedded files
//	                     └─ /api/…            ─▶ a login ─▶ connections of the Postgres protocol
//
// The console is a client as psql is one: it logs in with a role and its password, and each
// thing it shows is the answer to a statement that ran as that role. What a role may not see
// or do by SQL it does not see or do here, and no second set of rules has to be kept.
// Its connections are inner ones of package pg, so that the rules, the limits of failed
// logins, the audit log and cancelling are those of every client.
//
//	/api/login, /api/session, /api/logout   login.go   a cookie names the login
//	/api/query, /api/download, /api/cancel  query.go   rows as they come, a line of JSON each
//	/api/live                               live.go    server-sent events, once for all who look
package console
