//go:build !amd64 || noasm

package search

func next(s []byte, first, second byte, gap int) int { return nextGo(s, first, second, gap) }
