// Package charset converts between UTF8, which the server speaks, and the encodings that clients and COPY may speak, with PostgreSQL's
// names and errors: 22021 for bytes that mean nothing, 22P05 for a character that the other side does not have.
package charset
