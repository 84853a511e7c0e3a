// Command gen writes the assembly of package exact (go generate).
package main
