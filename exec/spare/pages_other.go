//go:build !linux

package spare

func LargePages(b []byte) []byte { return b }
