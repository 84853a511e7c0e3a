//go:build !linux

package raftnode

import "os"

const direct = 0

func datasync(f *os.File) error { return f.Sync() }
