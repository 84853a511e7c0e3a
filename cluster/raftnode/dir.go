package raftnode

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Dir is a node's data directory, locked by this process.
type Dir struct {
	Path string
	ID   uint64 // the node's id: random, made with the directory
	lock *os.File
}

// OpenDir locks a data directory, making it if it is not there.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, dirError(err, path)
	}
	lock, err := lockFile(filepath.Join(path, "LOCK"))
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path, lock: lock}
	if d.ID, err = readID(filepath.Join(path, "node-id")); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close gives the lock back.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

func dirError(err error, path string) error {
	return pgerr.Wrap(pgerr.IOError, err, "could not use data directory %q", path)
}

func readID(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 16, 64)
		if err != nil || id == 0 {
			return 0, pgerr.New(pgerr.DataCorrupted, "file %q does not hold a node id", path)
		}
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, dirError(err, path)
	}
	var raw [8]byte
	rand.Read(raw[:])
	id := binary.LittleEndian.Uint64(raw[:])>>1 | 1 // fits an int8 column, never 0
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, dirError(err, path)
	}
	_, err = f.WriteString(strconv.FormatUint(id, 16) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return 0, dirError(err, path)
	}
	return id, nil
}
