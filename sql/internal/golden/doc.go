// Package golden reads the tables of PostgreSQL's answers that the tests of
// sql's values compare with.
package golden
