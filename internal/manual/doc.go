// Package manual keeps the parts of the manual true that the code knows: tables
// that tests make from registries, and examples that tests run. It is for tests
// alone.
//
// A made part of a page stands between two comments:
//
//	<!-- made: NAME -->
//	…
//	<!-- end: NAME -->
//
// A test that finds another text there fails; run with -manual it writes the
// page instead (go test -p 1: the packages write the same page).
package manual
