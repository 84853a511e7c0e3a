// Package manual checks the parts of the manual that can be derived from the code:
// tables that tests generate from registries, and examples that tests run. It is for
// tests only.
//
// A generated part of a page is between two comments:
//
//	<!-- made: NAME -->
//	…
//	<!-- end: NAME -->
//
// A test that finds a different text there fails; run with -manual it rewrites the page
// instead (go test -p 1: several packages write the same page).
package manual
