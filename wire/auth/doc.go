// Package auth stores and verifies passwords: SCRAM-SHA-256 verifiers in PostgreSQL's form and the
// server's side of the exchange (RFC 5802, RFC 7677). Package pg decides who may connect from
// where.
package auth
