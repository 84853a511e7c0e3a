//go:build !linux

package raftnode

import "os"

func datasync(f *os.File) error { return f.Sync() }
