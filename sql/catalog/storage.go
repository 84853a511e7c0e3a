package catalog

import (
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Settings of a cluster whose files are kept in a bucket: SettingStorage names the place, which is the cluster's archive too, and
// is set by --storage alone. SettingStorageCommit says what a COMMIT waits for.
const (
	SettingStorage       = "storage"
	SettingStorageCommit = "storage_commit"
	// SettingStorageBackups is how many of its daily backups a storage keeps.
	SettingStorageBackups = "storage_backups"
)

// Bucket stands among the nodes that hold a file for the cluster's storage. Nodes' ids are odd.
const Bucket uint64 = 1 << 62

// InBucket reports whether the storage has the file: then what nodes have are copies that may go at any time.
func (g *Segment) InBucket() bool { return slices.Contains(g.Nodes, Bucket) }

// Holders are the nodes that hold the file, or are to read it if it is in the storage.
func (g *Segment) Holders() []uint64 {
	if !g.InBucket() {
		return g.Nodes
	}
	return slices.DeleteFunc(slices.Clone(g.Nodes), func(n uint64) bool { return n == Bucket })
}

// heldBy returns who holds a file after a change that says so. Whoever planned it may not have known yet that the file is in the
// storage, and nodes may have dropped their copies since: it stays there.
func heldBy(was, now []uint64) []uint64 {
	if slices.Contains(was, Bucket) && !slices.Contains(now, Bucket) {
		return append(slices.Clone(now), Bucket)
	}
	return now
}

// Storage is the place where the cluster keeps its files, "" for its nodes' disks alone.
func Storage(s *State) string { return s.settings[SettingStorage] }

// TakenOver returns the error of a write where another cluster has taken over the storage; else nil.
func TakenOver(s *State) error {
	if s.archive == nil || s.archive.TakenOver == 0 {
		return nil
	}
	return pgerr.New(pgerr.ReadOnlySQLTransaction, "the storage of this cluster was taken over by another cluster").
		WithDetail("Nothing is written to %s any more, and it may lose files that this cluster reads.", s.archive.Place).
		WithHint("Use the other cluster. What was committed here since is in no other place than the disks of these nodes.")
}

// WantArchive is part of a commit that is to be in the archive soon, as somebody waits for it.
type WantArchive struct{}

func (*WantArchive) apply(e *edit) error {
	e.s.wanted = e.version
	return nil
}

// Wanted is the version of the last commit that is to be in the archive soon.
func (s *kept) Wanted() uint64 { return s.wanted }

// DefaultStorageBackups is SettingStorageBackups unless it is set.
const DefaultStorageBackups = 2

// StorageBackups is how many of its daily backups the storage keeps.
func StorageBackups(s *State) int {
	if n, err := strconv.Atoi(s.settings[SettingStorageBackups]); err == nil && n > 0 {
		return n
	}
	return DefaultStorageBackups
}

// OnStorage makes a state that was just refounded that of a cluster which has all its files, and a backup of this state, in a place.
func OnStorage(s *State, place string) {
	if s.settings == nil {
		s.settings = map[string]string{}
	}
	s.settings[SettingStorage], s.settings[SettingArchive] = place, place
	s.archive = &Archive{Place: place, Version: s.version, Micros: s.at, Based: true}
}
