// Package process runs the program as its users do: nodes in processes of their
// own, for tests and for the programs of tools. A node is ready when it has printed
// its line; it ends by Kill, as by a power cut, by Stop, as by a supervisor, or
// by itself, which whoever watches Done learns.
package process
