package raftnode

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// identityFile holds the identity of a directory's node. It is small, synced, and
// replaced atomically.
const identityFile = "identity"

// identityFormat is the version of the directory's format.
const identityFormat = 1

// membership is the state of a node's membership.
type membership string

const (
	founding membership = "founding" // creates a cluster of its own, which has not started
	joining  membership = "joining"  // asks for admission; it has no cluster
	member   membership = "member"
	removed  membership = "removed" // was a member
)

type identity struct {
	Node     uint64
	Cluster  catalog.ClusterID
	Standing membership
}

func newIdentity() identity {
	var raw [8]byte
	rand.Read(raw[:])
	return identity{Node: binary.LittleEndian.Uint64(raw[:])>>1 | 1, Standing: founding} // fits an int8 column, never 0
}

func newClusterID() (c catalog.ClusterID) {
	rand.Read(c[:])
	return c
}

func (i identity) String() string {
	return fmt.Sprintf("tributary %d\nnode %x\ncluster %s\nstanding %s\n", identityFormat, i.Node, i.Cluster, i.Standing)
}

// readIdentity reads a file that write made; the error of a missing one is
// fs.ErrNotExist.
func readIdentity(path string) (identity, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return identity{}, err
	}
	bad := pgerr.New(pgerr.DataCorrupted, "file %q does not hold a node's identity", path).WithHint("Put it back from a copy of the directory.")
	words := map[string]string{}
	for _, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok || len(words) > 8 {
			return identity{}, bad
		}
		words[string(name)] = string(value)
	}
	if v, err := strconv.Atoi(words["tributary"]); err != nil {
		return identity{}, bad
	} else if v != identityFormat {
		return identity{}, pgerr.Unsupported("data directory of format %d: this version reads format %d", v, identityFormat)
	}
	i := identity{Standing: membership(words["standing"])}
	i.Node, err = strconv.ParseUint(words["node"], 16, 64)
	c, cerr := hex.DecodeString(words["cluster"])
	known := i.Standing == founding || i.Standing == joining || i.Standing == member || i.Standing == removed
	if err != nil || cerr != nil || i.Node == 0 || len(c) != len(i.Cluster) || !known {
		return identity{}, bad
	}
	copy(i.Cluster[:], c)
	if i.Standing != joining && i.Cluster.IsZero() {
		return identity{}, bad
	}
	return i, nil
}

func (i identity) write(path string) error { return replaceFile(path, i.String()) }

// replaceFile atomically replaces a file that only its owner can read: after a crash it
// has the old text or the new one.
func replaceFile(path, text string) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
