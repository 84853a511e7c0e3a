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
	"github.com/tributarydb/tributary/sql/version"
)

// identityFile holds the identity of a directory's node. It is small, synced, and
// replaced atomically.
const identityFile = "identity"

// The formats of the file: identityVersioned has the version of the cluster, if that is not 1.
const identityFormat, identityVersioned = 1, 2

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
	Version  uint32 // the finalised one of the cluster
}

func newIdentity() identity {
	var raw [8]byte
	rand.Read(raw[:])
	return identity{Node: binary.LittleEndian.Uint64(raw[:])>>1 | 1, Standing: founding, Version: version.Oldest} // fits an int8 column, never 0
}

func newClusterID() (c catalog.ClusterID) {
	rand.Read(c[:])
	return c
}

func (i identity) String() string {
	format, more := identityFormat, ""
	if i.Version > 1 {
		format, more = identityVersioned, fmt.Sprintf("version %d\n", i.Version)
	}
	return fmt.Sprintf("tributary %d\nnode %x\ncluster %s\nstanding %s\n%s", format, i.Node, i.Cluster, i.Standing, more)
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
	i := identity{Standing: membership(words["standing"]), Version: 1}
	switch format, err := strconv.Atoi(words["tributary"]); {
	case err != nil:
		return identity{}, bad
	case format > identityVersioned:
		return identity{}, pgerr.Unsupported("data directory of format %d: this program reads formats up to %d", format, identityVersioned)
	case format == identityVersioned:
		if _, err := fmt.Sscanf(words["version"], "%d", &i.Version); err != nil {
			return identity{}, bad
		}
	}
	if err := version.Readable(i.Version, fmt.Sprintf("data directory %q", filepath.Dir(path))); err != nil {
		return identity{}, err
	}
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
