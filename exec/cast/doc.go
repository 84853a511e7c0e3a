// Package cast converts between types. Between chooses how from the two types; a
// Conversion runs it over columns.
package cast
