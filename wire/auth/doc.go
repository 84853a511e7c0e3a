// Package auth holds passwords and proves them: SCRAM-SHA-256 verifiers in
// PostgreSQL's form and the server's side of the exchange (RFC 5802, RFC 7677).
// It decides nothing about who may connect from where; that is package pg.
package auth
