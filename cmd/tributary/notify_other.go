//go:build !linux

package main

// reloading is the state of a server that reads its files again.
func reloading() string { return "RELOADING=1" }
