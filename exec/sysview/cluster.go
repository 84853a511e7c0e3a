package sysview

import (
	"encoding/hex"
	"slices"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/version"
)

func clusterNodes(v *view, put put) error {
	live := map[uint64]NodeRow{}
	var ids []uint64
	for _, n := range v.host.Nodes() {
		live[n.ID] = n
		ids = append(ids, n.ID)
	}
	for _, n := range v.st.Nodes() {
		if _, ok := live[n.ID]; !ok {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		n, known := live[id]
		var used, spilled, rss, age, limit, damaged, repaired, progress, scrubbed, votes, free, admitted, queued, onDisk any
		if known {
			damaged, repaired, votes, admitted, queued = n.Damaged, n.Repaired, n.Votes, n.Admitted, n.Queued
			if n.DiskFree >= 0 {
				free, onDisk = n.DiskFree, orNull(n.DiskUsed)
			}
			if n.ScrubTotal > 0 {
				progress = float64(n.ScrubDone) / float64(n.ScrubTotal)
			}
			if !n.ScrubCompleted.IsZero() {
				scrubbed = n.ScrubCompleted
			}
			used, spilled, rss, age, limit = n.MemoryUsed, n.Spilled, orNull(n.RSS), n.HeartbeatAge.Milliseconds(), orNull(n.MemoryLimit)
		}
		state := n.State
		var joined any
		if d := v.st.Node(id); d != nil {
			n.Name, n.Address, n.PG, n.HTTP, n.Cores, n.Threads, n.Zone = d.Name, d.Addr, d.PG, d.HTTP, d.Cores, d.Threads, d.Zone
			joined = d.JoinedAt
			if limit == nil {
				limit = orNull(d.Memory)
			}
			if d.Draining && (state == "" || state == "ready") {
				state = "draining"
			}
		}
		if state == "" {
			state = "unknown"
		}
		err := put(int64(id), n.Name, n.Address, text(n.PG), text(n.HTTP), state, n.Leader, n.Cores, n.Threads, limit, used, spilled, rss, age, joined,
			damaged, repaired, progress, scrubbed, text(n.Zone), votes, free, admitted, queued, text(n.Version), n.Started, onDisk, orNull(int(n.Binary)))
		if err != nil {
			return err
		}
	}
	return nil
}

// clusterVersion produces the one row of cluster.version.
func clusterVersion(v *view, put put) error {
	older := []string{}
	for _, n := range v.host.Nodes() {
		if n.Binary < version.Binary {
			older = append(older, n.Name)
		}
	}
	state := "finalized"
	switch {
	case v.st.Finalized() >= version.Binary:
	case len(older) > 0:
		state = "upgrading"
	default:
		state = "ready to finalize"
	}
	return put(int(v.st.Finalized()), version.Binary, version.Oldest, state, older)
}

// nodeNames returns the names of nodes in the order of their ids.
func (v *view) nodeNames(ids []uint64) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	out := []string{}
	for _, id := range slices.Compact(ids) {
		if n := v.st.Node(id); n != nil {
			out = append(out, n.Name)
		} else if id == catalog.Bucket {
			out = append(out, "storage")
		} else {
			out = append(out, itoa(int64(id)))
		}
	}
	return out
}

// eachPartition calls f for the partitions of the tables that the current role may see.
func (v *view) eachPartition(f func(r *catalog.Relation, part int, segs []*catalog.Segment) error) error {
	for _, r := range v.st.Relations() {
		if !hasRows(r.Kind) || !v.sees(r, anyPriv) {
			continue
		}
		m := v.st.Manifest(r.OID)
		n := r.Partitions
		if m != nil {
			n = max(n, len(m.Partitions))
		}
		for p := range n {
			var segs []*catalog.Segment
			if m != nil && p < len(m.Partitions) {
				segs = m.Partitions[p]
			}
			if err := f(r, p, segs); err != nil {
				return err
			}
		}
	}
	return nil
}

func clusterPartitions(v *view, put put) error {
	return v.eachPartition(func(r *catalog.Relation, part int, segs []*catalog.Segment) error {
		var rows, deleted, size int64
		var nodes []uint64
		for _, s := range segs {
			rows += s.Live()
			deleted += s.DeletedRows
			size += s.Bytes + int64(len(s.Inline))
			nodes = append(nodes, s.Nodes...)
		}
		return put(v.schemaName(r.Schema), r.Name, part, len(segs), rows, deleted, size, v.nodeNames(nodes))
	})
}

func clusterSegments(v *view, put put) error {
	return v.eachPartition(func(r *catalog.Relation, part int, segs []*catalog.Segment) error {
		for i, s := range segs {
			var sum any
			if s.XXH128 != [16]byte{} {
				sum = "xxh128:" + hex.EncodeToString(s.XXH128[:])
			} else if s.SHA256 != [32]byte{} {
				sum = "sha256:" + hex.EncodeToString(s.SHA256[:])
			}
			err := put(v.schemaName(r.Schema), r.Name, part, i, s.ID.String(), s.Inline != nil, s.Live(), s.DeletedRows, s.Bytes+int64(len(s.Inline)),
				v.nodeNames(s.Nodes), sum)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func clusterTasks(v *view, put put) error {
	for _, t := range v.host.Tasks() {
		if !v.reads(t.User) {
			t.Query = Hidden
		}
		err := put(t.Statement, t.Stage, t.Task, t.Node, orNull(t.PID), t.State, t.SplitsDone, orNull(t.SplitsTotal), t.Rows, t.Bytes,
			t.Memory, t.Spilled, t.Started, text(t.Query))
		if err != nil {
			return err
		}
	}
	return nil
}

// clusterSettings produces the values that sessions start with.
func clusterSettings(v *view, put put) error {
	set := map[string]string{}
	for _, s := range v.st.Settings() {
		set[s.Name] = s.Value
	}
	for _, s := range v.host.Settings() {
		value, ok := set[s.Name]
		if !ok {
			value = s.Boot
		}
		if err := put(s.Name, value); err != nil {
			return err
		}
	}
	return nil
}

func clusterSessions(v *view, put put) error {
	for _, s := range v.host.Sessions() {
		query, addr := any(s.Text), text(s.ClientAddr)
		if !v.reads(s.User) {
			query, addr = Hidden, nil
		}
		err := put(text(s.Node), s.PID, s.UserName, s.Application, addr, text(s.State), query, s.Query, s.Memory, s.Spilled, s.Read, orNull(s.Total), s.Produced,
			text(s.QueueNode), orNull(int64(s.QueuePlace)))
		if err != nil {
			return err
		}
	}
	return nil
}
