//go:build !unix

package raftnode

import "os"

// lockFile only creates the file: this platform has no flock.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, dirError(err, path)
	}
	return f, nil
}
