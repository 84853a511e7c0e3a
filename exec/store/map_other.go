//go:build !unix

package store

import "os"

// mapFile reads a file whole where there is no mmap.
func mapFile(path string) (data []byte, unmap func(), err error) {
	data, err = os.ReadFile(path)
	return data, func() {}, err
}
