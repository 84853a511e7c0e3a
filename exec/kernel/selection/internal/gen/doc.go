// Command gen writes the assembly of package selection (go generate).
package main
