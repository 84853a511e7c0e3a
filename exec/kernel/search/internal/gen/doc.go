// Command gen writes the assembly of package search (go generate).
package main
