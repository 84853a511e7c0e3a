package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Own makes a directory the storage of a cluster which has a lease of a number for it. Its commits go to a place of their own
// from now on: whoever had it before may still write theirs.
func Own(d *Dir, cluster catalog.ClusterID, lease uint64) error {
	was, old := d.owner, d.lease
	d.owner, d.lease = cluster, lease
	err := d.held()
	if err == nil {
		err = d.replace(markFile, [][]byte{fmt.Appendf(nil, "%d %s %d\n", storageFormat, cluster, lease)})
	}
	if err != nil {
		d.owner, d.lease = was, old
	}
	return err
}

// TakeOver makes a directory the storage of a cluster that begins with a state, which names only files that are there. The
// caller has locked it. Until all is written, it is the old owner's.
func TakeOver(ctx context.Context, d *Dir, cluster catalog.ClusterID, lease uint64, state *catalog.State) error {
	was, old := d.owner, d.lease
	d.owner, d.lease = cluster, lease
	_, _, err := d.Write(ctx, Head{Cluster: cluster, Version: state.Version(), At: time.Now()}, state, Options{})
	if err == nil {
		err = Own(d, cluster, lease)
	}
	if err != nil {
		d.owner, d.lease = was, old
	}
	return err
}

// Stored reports whether a directory is the storage of a cluster.
func Stored(d *Dir, cluster catalog.ClusterID) bool { return isStorage(d, cluster) }

// Newest returns the time of the newest backup that commits follow; zero for none. read is as for Choose.
func Newest(d *Dir, read func(name string) (*Backup, error)) (time.Time, error) {
	names, err := d.Names()
	if err != nil {
		return time.Time{}, err
	}
	for _, name := range slices.Backward(names) {
		b, err := read(name)
		if err == nil && d.base(b.Head) {
			return b.At, nil
		}
		if err != nil && !pgerr.Is(err, pgerr.DataCorrupted) {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}
