// Command gen writes the assembly of package hist (go generate).
package main
