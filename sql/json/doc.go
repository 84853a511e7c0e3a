// Package json is the values of json and jsonb: a tree with PostgreSQL's order,
// its operators and its canonical text. jsonb is represented as that text; scan.go
// finds a part in it without a tree.
package json
