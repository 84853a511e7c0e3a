package node

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// watchEvery is how often a node looks at itself and the others for events.
const watchEvery = time.Second

// loadFile is the file of a node's samples.
const loadFile = "load"

// monitor samples the node's load and notes events, until the node ends.
type monitor struct {
	n       *Node
	samples *observe.Samples
	mu      sync.Mutex // for the fields below

	// What there was when it last looked.
	at      time.Time // of the last sample
	cpu     time.Duration
	spilled int64
	in, out int64
	members map[uint64]bool // and whether they were alive
	names   map[uint64]string
	leader  uint64
	damage  store.Damage
}

func newMonitor(n *Node) *monitor {
	m := &monitor{n: n, samples: observe.OpenSamples(filepath.Join(n.o.Data, loadFile), n.o.Log), damage: n.store.Damage(), at: time.Now()}
	m.rates(1)
	m.members, m.names = m.alive()
	m.leader = n.raft.Leader()
	return m
}

// run looks every second until stop is closed.
func (m *monitor) run(stop <-chan struct{}) {
	defer m.samples.Close()
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		m.n.observe.Gather()
		m.mu.Lock()
		m.look()
		if time.Since(m.at) >= observe.Fine {
			m.sample()
		}
		m.mu.Unlock()
	}
}

// sample adds a sample of the time since the last.
func (m *monitor) sample() {
	now := time.Now()
	span := now.Sub(m.at).Seconds()
	m.at = now
	x := m.rates(span)
	r := m.n.ownReport()
	x.At, x.Span = float64(now.Unix()), span
	x.MemoryUsed, x.MemoryLimit, x.RSS = float64(r.Used), float64(r.Limit), float64(r.RSS)
	x.DiskUsed, x.DiskFree = float64(r.DiskUsed), float64(max(r.DiskFree, 0))
	x.Sessions, x.Queued = float64(len(m.n.engine.Sessions())), float64(r.Queue.Queued)
	l := m.n.observe.TakeLoad()
	m.samples.Add(x, l)
}

// rates are what was counted since it was last called, a second.
func (m *monitor) rates(span float64) (x observe.Sample) {
	cpu, spilled, in, out := processTime(), m.n.pool.Spilled(), m.n.traffic.In.Load(), m.n.traffic.Out.Load()
	x.CPU, x.Spilled = (cpu-m.cpu).Seconds()/span, float64(spilled-m.spilled)/span
	x.NetworkIn, x.NetworkOut = float64(in-m.in)/span, float64(out-m.out)/span
	m.cpu, m.spilled, m.in, m.out = cpu, spilled, in, out
	return x
}

func (m *monitor) alive() (map[uint64]bool, map[uint64]string) {
	alive, names := map[uint64]bool{}, map[uint64]string{}
	for _, x := range m.n.raft.Current().Nodes() {
		alive[x.ID], _ = m.n.raft.Liveness(x.ID)
		names[x.ID] = x.Name
	}
	return alive, names
}

// look notes what has changed. Of what concerns the cluster the first of the nodes that are alive
// takes note, by their ids, so that it is there once.
func (m *monitor) look() {
	members, names := m.alive()
	leader := m.n.raft.Leader()
	if d := m.n.store.Damage(); d != m.damage {
		if n := d.Found - m.damage.Found; n > 0 {
			m.n.observe.Event("damage", "warning", m.n.o.Name, fmt.Sprintf("%d segments were found damaged or missing", n))
		}
		if n := d.Repaired - m.damage.Repaired; n > 0 {
			m.n.observe.Event("repair", "info", m.n.o.Name, fmt.Sprintf("%d segments were replaced from another replica", n))
		}
		m.damage = d
	}
	first := m.n.dir.ID
	for id, alive := range members {
		if alive {
			first = min(first, id)
		}
	}
	if first == m.n.dir.ID {
		note := func(kind, severity string, id uint64, text string) {
			name := names[id]
			if name == "" {
				name = m.names[id]
			}
			m.n.observe.Event(kind, severity, name, text)
		}
		var ids []uint64
		for id := range members {
			ids = append(ids, id)
		}
		for id := range m.members {
			if _, ok := members[id]; !ok {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			alive, is := members[id]
			lived, was := m.members[id]
			switch {
			case is && !was:
				note("join", "info", id, "the node has joined the cluster")
			case was && !is:
				note("leave", "info", id, "the node has left the cluster")
			case lived && !alive:
				note("lost", "warning", id, "the node does not answer")
			case alive && !lived:
				note("back", "info", id, "the node answers again")
			}
		}
		if leader != m.leader && leader != 0 {
			note("leader", "info", leader, "the node leads the cluster")
		}
	}
	m.members, m.names = members, names
	if leader != 0 {
		m.leader = leader
	}
}

// Event notes something that happened to the node: kind is a word, severity "info", "warning" or "error".
func (n *Node) Event(kind, severity, subject, message string) {
	n.observe.Event(kind, severity, subject, message)
}

// Refused notes a client that was refused.
func (n *Node) Refused(user, address, reason string) { n.observe.Refused(user, address, reason) }

// The limits of warnings.
const (
	certSoon, certNow = 30 * 24 * time.Hour, 7 * 24 * time.Hour
	diskShare         = 0.1
	memoryShare       = 0.8
)

// warningRows are what somebody should do something about: on this node, and where the reader asks this
// node, what all of them know.
func (n *Node) warningRows(r reader) (out [][]any) {
	warn := func(severity, kind, node, message, hint string) {
		out = append(out, []any{severity, kind, node, message, hint})
	}
	self := n.o.Name
	rep := n.ownReport()
	if all := float64(rep.DiskFree + rep.DiskUsed); rep.DiskFree >= 0 && rep.DiskUsed > 0 && (float64(rep.DiskFree) < diskShare*all || rep.DiskFree < shortOfSpace) {
		severity := "warning"
		if rep.DiskFree < shortOfSpace {
			severity = "error"
		}
		warn(severity, "disk", self, fmt.Sprintf("%d MiB are free on the file system of %s", rep.DiskFree>>20, n.o.Data), "Delete rows or files, or add a disk or a node.")
	}
	if used := float64(rep.Used - rep.Idle); rep.Limit > 0 && used > memoryShare*float64(rep.Limit) {
		warn("warning", "memory", self, fmt.Sprintf("%d of %d MiB of memory are in use: new statements wait", int64(used)>>20, rep.Limit>>20), "See cluster.statements for what holds it.")
	}
	if every := n.scrubEvery(); every > 0 {
		since := n.started
		if rep.Scrub.Completed.After(since) {
			since = rep.Scrub.Completed
		}
		if age := time.Since(since); age > 2*every {
			warn("warning", "scrub", self, fmt.Sprintf("the segments were last read for damage %s ago", age.Round(time.Hour)), "Raise --scrub-rate.")
		}
	}
	if lost := rep.Damage.Found - rep.Damage.Repaired; lost > 0 {
		warn("error", "damage", self, fmt.Sprintf("%d damaged segments could not be repaired", lost), "See cluster.logs; restore from a backup what no other node has.")
	}
	if n.o.TLS != nil {
		if conf := n.o.TLS(); conf != nil && len(conf.Certificates) > 0 && conf.Certificates[0].Leaf != nil {
			end := conf.Certificates[0].Leaf.NotAfter
			severity := "warning"
			left := time.Until(end)
			if left < certNow {
				severity = "error"
			}
			if left < certSoon {
				warn(severity, "certificate", self, "the certificate is valid until "+end.UTC().Format(time.DateTime)+" UTC", "Make a new one with tributary cert, and send the server SIGHUP.")
			}
		}
	}
	if r.here {
		n.clusterWarnings(r.st, warn)
	}
	return out
}

func (n *Node) scrubEvery() time.Duration {
	switch {
	case n.o.ScrubRate <= 0:
		return 0
	case n.o.ScrubEvery > 0:
		return n.o.ScrubEvery
	}
	return 24 * time.Hour
}

// clusterWarnings warns of nodes that are down and of what has too few copies.
func (n *Node) clusterWarnings(st *catalog.State, warn func(severity, kind, node, message, hint string)) {
	if a := catalog.Archiving(st); a != nil && a.Error != "" {
		warn("error", "archive", "", "commits cannot be archived: the last attempt failed", "See cluster.archive. Files that it lacks are kept on the nodes meanwhile.")
	}
	if err := catalog.TakenOver(st); err != nil {
		warn("error", "storage", "", pgerr.From(err).Message, "Use the other cluster. Nothing can be written here.")
	}
	alive := map[uint64]bool{}
	up, members := 0, n.raft.Current().Nodes()
	for _, m := range members {
		ok, since := n.raft.Liveness(m.ID)
		if alive[m.ID] = ok; ok {
			up++
			continue
		}
		warn("error", "node", m.Name, fmt.Sprintf("the node has not answered for %s", time.Since(since).Round(time.Second)),
			"Start it, or if it is lost: ALTER NODE "+m.Name+" DECOMMISSION FORCE.")
	}
	if n.upgrade.ready() {
		warn("warning", "upgrade", n.o.Name, fmt.Sprintf("all nodes run version %d, and the cluster is at version %d", version.Binary, st.Finalized()),
			"When nobody wants to go back, ALTER SYSTEM FINALIZE UPGRADE.")
	}
	if n.raft.Leader() == 0 {
		warn("error", "leader", n.o.Name, "the cluster has no leader: nothing can be written", "A majority of the voting nodes must be up.")
	}
	want := min(3, len(members))
	few, none := 0, 0
	for _, r := range st.Relations() {
		m := st.Manifest(r.OID)
		if m == nil {
			continue
		}
		for _, p := range m.Partitions {
			for _, s := range p {
				if s.Inline != nil || len(s.Nodes) == 0 || s.InBucket() {
					continue
				}
				copies := 0
				for _, id := range s.Nodes {
					if alive[id] {
						copies++
					}
				}
				switch {
				case copies == 0:
					none++
				case copies < want:
					few++
				}
			}
		}
	}
	if none > 0 {
		warn("error", "replicas", n.o.Name, fmt.Sprintf("%d segments have no copy on a node that is up", none), "Statements that read them fail until a node that has them is back.")
	}
	if few > 0 {
		warn("warning", "replicas", n.o.Name, fmt.Sprintf("%d segments have fewer than %d copies on nodes that are up", few, want), "Copies are made where nodes are up for long enough.")
	}
}

// loadRows are the samples of the node's load.
func (n *Node) loadRows(reader) (out [][]any) {
	for _, x := range n.monitor.samples.All(time.Now()) {
		out = append(out, []any{n.o.Name, time.Unix(int64(x.At), 0), x.Span, x.CPU, int64(x.MemoryUsed), int64(x.MemoryLimit), int64(x.RSS), x.Spilled, int64(x.DiskUsed), int64(x.DiskFree),
			x.NetworkIn, x.NetworkOut, x.Statements, x.P50, x.P99, x.Errors, int64(x.Sessions), int64(x.Queued)})
	}
	return out
}

func (n *Node) eventRows(r reader) (out [][]any) {
	if !r.monitors() {
		return nil
	}
	for _, e := range n.observe.Events.All() {
		out = append(out, []any{n.o.Name, e.At, e.Kind, e.Severity, textOrNull(e.Subject), e.Message})
	}
	return out
}

func (n *Node) logRows(r reader) (out [][]any) {
	if !r.monitors() {
		return nil
	}
	for _, l := range n.observe.Logs.All() {
		out = append(out, []any{n.o.Name, l.At, l.Level, l.Message, textOrNull(l.Fields)})
	}
	return out
}
