// Command gen writes the assembly of package sketch (go generate).
package main
