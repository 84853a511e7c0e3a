// Command gen writes the assembly of package bins (go generate).
package main
