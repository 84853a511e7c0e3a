package storage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// lease says whose storage a place is.
type lease struct {
	Number  uint64 // counts up with each cluster that takes it
	Cluster catalog.ClusterID
	Until   time.Time // from then on others may take it
}

// leaseLife is how long a lease lasts that is not renewed.
const leaseLife = 30 * time.Second

func leaseURI(place string) string { return place + "/LEASE" }

// text has what makes it unlike others.
func (l lease) text() string {
	return fmt.Sprintf("%d %s %s %s\n", l.Number, l.Cluster, l.Until.UTC().Format(time.RFC3339Nano), rand.Text())
}

// read returns the lease of a place, and its tag, "" for none.
func read(ctx context.Context, s object.Leaser, place string) (l lease, tag string, err error) {
	text, tag, err := s.Peek(ctx, leaseURI(place))
	if err != nil || tag == "" {
		return l, "", err
	}
	words := strings.Fields(text)
	if len(words) != 4 {
		return l, "", badLease(place)
	}
	number, err := strconv.ParseUint(words[0], 10, 64)
	id, err2 := hex.DecodeString(words[1])
	until, err3 := time.Parse(time.RFC3339Nano, words[2])
	if errors.Join(err, err2, err3) != nil || len(id) != len(l.Cluster) {
		return l, "", badLease(place)
	}
	l = lease{number, catalog.ClusterID(id), until}
	return l, tag, nil
}

func badLease(place string) error {
	return pgerr.New(pgerr.DataCorrupted, "%q does not hold a lease", leaseURI(place))
}

// await waits while another cluster has the lease of a place, and returns the tag of what that has left. It fails where that renews
// it: it is alive. Clocks may differ: a lease that is not renewed for as long as it lasts has ended, whatever it says.
func (s *Storage) await(ctx context.Context, l object.Leaser, place string, cluster catalog.ClusterID) (ended string, err error) {
	began, waited := time.Now(), ""
	for {
		was, tag, err := read(ctx, l, place)
		if err != nil || tag == "" || was.Cluster == cluster {
			return tag, err
		}
		if waited != "" && waited != tag {
			return "", inUse(place, was)
		}
		left := min(time.Until(was.Until), s.o.Life-time.Since(began))
		if left <= 0 {
			return tag, nil
		}
		waited = tag
		s.o.Log.Info("the storage belongs to another cluster: the end of its lease is waited for", "storage", place, "cluster", was.Cluster, "left", left)
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return "", ctx.Err()
		}
	}
}

func inUse(place string, l lease) error {
	return pgerr.New(pgerr.ObjectInUse, "%q is the storage of another cluster, which runs", place).
		WithDetail("Cluster %s renews its lease, number %d.", l.Cluster, l.Number).
		WithHint("Stop all of its nodes first, or start the node with --join to become one of them.")
}

// take takes the lease of a place for a cluster in place of what await has seen, and returns its number, which is greater than least.
func (s *Storage) take(ctx context.Context, l object.Leaser, place string, cluster catalog.ClusterID, least uint64, ended string) (uint64, error) {
	was, tag, err := read(ctx, l, place)
	if err != nil {
		return 0, err
	}
	next := lease{Number: max(was.Number, least) + 1, Cluster: cluster, Until: time.Now().Add(s.o.Life)}
	switch {
	case tag != "" && was.Cluster == cluster:
		next.Number = was.Number
	case tag != ended:
		return 0, inUse(place, was)
	}
	_, err = l.Swap(ctx, leaseURI(place), next.text(), tag)
	if errors.Is(err, object.ErrLeased) {
		err = beingTakenOver(place)
	}
	return next.Number, err
}

// HoldEvery is how often the lease is to be renewed.
func (s *Storage) HoldEvery() time.Duration { return s.o.Life / 3 }

// Hold renews the lease of the cluster's storage. It returns the number of the lease of another cluster that has it now, 0 for none.
func (s *Storage) Hold(ctx context.Context, place string) (takenOver uint64, err error) {
	l, err := s.leaser(place)
	if err != nil {
		return 0, err
	}
	cluster := s.o.Catalog().Cluster()
	for range 3 {
		was, tag, err := read(ctx, l, place)
		switch {
		case err != nil:
			return 0, err
		case tag == "":
			return 0, pgerr.New(pgerr.IOError, "the storage has no lease any more: %q is gone", leaseURI(place)).
				WithHint("Somebody has removed objects of it. Nothing is written there until the object is back.")
		case was.Cluster != cluster:
			return s.takeBack(ctx, place, cluster, was)
		}
		// One that ends later than it lasts is of a node whose clock was ahead: who waits for its end must see it renewed.
		if left := time.Until(was.Until); left > s.o.Life*2/3 && left <= s.o.Life {
			return 0, nil
		}
		was.Until = time.Now().Add(s.o.Life)
		if _, err := l.Swap(ctx, leaseURI(place), was.text(), tag); !errors.Is(err, object.ErrLeased) {
			return 0, err
		}
	}
	return 0, pgerr.New(pgerr.ObjectInUse, "the lease of the storage changes again and again: %q", leaseURI(place))
}

// takeBack takes the lease back from a start of another cluster that was killed before it had made the place its own. It returns the
// number of the lease where the place is that other's.
func (s *Storage) takeBack(ctx context.Context, place string, cluster catalog.ClusterID, other lease) (takenOver uint64, err error) {
	dir, l, done, err := s.open(ctx, place, false)
	if err != nil {
		return 0, err
	}
	defer done()
	if !backup.Stored(dir, cluster) {
		return other.Number, nil
	}
	// Who takes over a place has the lock until it is its own, and then its mark says so.
	err = locked(dir, func() error {
		if !backup.Stored(dir, cluster) { // it was read anew
			takenOver = other.Number
			return nil
		}
		now, tag, err := read(ctx, l, place)
		if err != nil || now.Number != other.Number || now.Cluster != other.Cluster {
			return errors.Join(err, beingTakenOver(place))
		}
		next := lease{Number: other.Number + 1, Cluster: cluster, Until: time.Now().Add(s.o.Life)}
		if _, err = l.Swap(ctx, leaseURI(place), next.text(), tag); err == nil {
			s.o.Log.Warn("the lease of the storage was taken back: another cluster began to take it over, and did not end", "storage", place, "cluster", other.Cluster, "lease", next.Number)
		}
		return err
	})
	return takenOver, err
}

// beingTakenOver is an error that passes: the one or the other cluster has the place soon.
func beingTakenOver(place string) error {
	return pgerr.New(pgerr.ObjectInUse, "another cluster takes over %q at this moment", place)
}

// Release gives the lease back, as the cluster's last node ends, so that another need not wait for it.
func (s *Storage) Release(ctx context.Context) error {
	state := s.o.Catalog()
	place := catalog.Storage(state)
	if place == "" || catalog.TakenOver(state) != nil {
		return nil
	}
	l, err := s.leaser(place)
	if err != nil {
		return err
	}
	return s.giveBack(ctx, l, place, state.Cluster(), state.Cluster())
}

// giveBack ends the lease of a cluster, if it has it, and names the one that has it next unless another comes first.
func (s *Storage) giveBack(ctx context.Context, l object.Leaser, place string, cluster, next catalog.ClusterID) error {
	was, tag, err := read(ctx, l, place)
	if err != nil || tag == "" || was.Cluster != cluster {
		return err
	}
	was.Cluster, was.Until = next, time.Now()
	_, err = l.Swap(ctx, leaseURI(place), was.text(), tag)
	return err
}
