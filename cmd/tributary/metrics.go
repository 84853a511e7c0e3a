package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/http"
)

// metrics implements http.Source for a node.
type metrics struct{ n *node.Node }

// Ready implements http.Source.
func (d metrics) Ready() bool { return d.n.Ready() }

// Collectors are the metrics that the node counts where things happen.
func (d metrics) Collectors() []prometheus.Collector { return d.n.Collectors() }

// allow reports whether a password is that of a superuser.
func (d metrics) allow(user, password string) bool {
	r := d.n.Catalog().RoleByName(user)
	if r == nil || !r.Super || !r.Login {
		return false
	}
	l, err := d.n.Engine().Authenticate(context.Background(), user, false)
	return err == nil && auth.Check(l.Verifier, password)
}

// open reports whether a superuser may log in without a password, over loopback: then
// the page need not ask for one.
func (d metrics) open() bool {
	for _, r := range d.n.Catalog().Roles() {
		if r.Super && r.Login && r.Password == "" {
			return true
		}
	}
	return false
}

// State implements http.Source.
func (d metrics) State() http.State {
	s := http.State{Sessions: map[string]int{}}
	for _, m := range d.n.Members() {
		var scrubbed int64
		if !m.ScrubCompleted.IsZero() {
			scrubbed = m.ScrubCompleted.Unix()
		}
		s.Nodes = append(s.Nodes, http.Node{Name: m.Name, State: m.State, Leader: m.Leader, PG: m.PG, Limit: m.MemoryLimit, Used: m.MemoryUsed, Idle: m.MemoryIdle,
			RSS: m.RSS, Spill: m.Spilled, Cores: m.Cores, Damaged: m.Damaged, Repaired: m.Repaired, Scrubbed: scrubbed,
			ModelBytes: m.Models.Bytes, IdleModelBytes: m.Models.Idle, ModelLoads: m.Models.Loads,
			Admitted: m.Admitted, Queued: m.Queued, Admissions: m.Admissions, AdmissionWait: m.AdmissionWait.Seconds()})
	}
	slices.SortFunc(s.Nodes, func(a, b http.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, x := range d.n.Engine().Sessions() {
		s.Sessions[x.Info().Activity.State]++
	}
	for _, j := range d.n.Catalog().Jobs() {
		if j.State == catalog.JobRunning {
			s.Trainings++
		}
	}
	return s
}
