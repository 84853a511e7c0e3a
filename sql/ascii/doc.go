// Package ascii has the classes of single bytes that PostgreSQL's input
// functions know, whatever the locale.
package ascii
