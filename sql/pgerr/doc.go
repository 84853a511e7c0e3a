// Package pgerr is the only place that makes SQLSTATE errors.
//
// Every error that a client may see is a *pgerr.Error with one of the codes of
// codes.go (PostgreSQL 15 manual, appendix A, and some for our own nodes). Other layers return these
// values, or wrap them with %w; the wire finds the code with errors.As through
// From. Nobody decides on the text of an error: to react to a condition, test
// its Code with Is, which is the same on another node, or where no message between nodes
// lies between use a typed error of the package that raised it.
//
// It is not a logging package and holds no state.
package pgerr
