// Command gen writes the assembly of package lookup (go generate).
package main
