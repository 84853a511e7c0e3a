//go:build !amd64 || noasm

package bins

func checkBodies(*Table, []float64, Scale, func(name string, find func(dst []byte))) {}

func benchBodies(func(name string, f func()), *Table, []byte, []float64, Scale) {}
