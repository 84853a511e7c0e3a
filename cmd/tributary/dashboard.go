package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/http"
)

// dashboard implements http.Source for a node.
type dashboard struct{ n *node.Node }

// Ready implements http.Source.
func (d dashboard) Ready() bool { return d.n.Ready() }

// allow reports whether a password is that of a superuser.
func (d dashboard) allow(user, password string) bool {
	r := d.n.Catalog().RoleByName(user)
	if r == nil || !r.Super || !r.Login {
		return false
	}
	l, err := d.n.Engine().Authenticate(context.Background(), user, false)
	return err == nil && auth.Check(l.Verifier, password)
}

// open reports whether a superuser may log in without a password, over loopback: then
// the page need not ask for one.
func (d dashboard) open() bool {
	for _, r := range d.n.Catalog().Roles() {
		if r.Super && r.Login && r.Password == "" {
			return true
		}
	}
	return false
}

// State implements http.Source.
func (d dashboard) State() http.State {
	s := http.State{Node: d.n.Name()}
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
		i := x.Info()
		s.Sessions = append(s.Sessions, http.Session{PID: i.PID, User: i.UserName, State: i.Activity.State, Query: i.Activity.Query,
			Seconds: time.Since(i.Activity.QueryStart).Seconds(), Memory: i.Memory})
	}
	st := d.n.Catalog()
	for _, j := range st.Jobs() {
		row := http.Job{Model: j.Model, Phase: j.Phase, Rows: j.Rows, Iteration: j.Iteration, State: string(j.State), Error: j.Error, Ended: j.UpdatedAt.Unix()}
		if row.Running = j.State == catalog.JobRunning; row.Running {
			row.Ended, row.Loss, row.Validation = 0, losses(j.History, trainLoss), losses(j.History, validationLoss)
		}
		s.Jobs = append(s.Jobs, row)
	}
	for _, m := range st.Models() {
		if v := m.Find(0); v != nil {
			s.Models = append(s.Models, http.Model{Name: m.Name, Algorithm: v.Algorithm, Rows: v.Rows, Version: v.Number, Iterations: len(v.History),
				Loss: losses(v.History, trainLoss), Validation: losses(v.History, validationLoss), TrainLoss: http.Number(v.TrainLoss), SHA256: fmt.Sprintf("%x", v.SHA256)})
		}
	}
	return s
}

// maxPoints is how many points of a curve are sent, once a second.
const maxPoints = 600

// losses returns a loss curve, thinned to maxPoints; its last point is always kept.
func losses(h []catalog.Iteration, of func(catalog.Iteration) float64) []http.Number {
	step := max(1, (len(h)+maxPoints-1)/maxPoints)
	var out []http.Number
	some := false
	for i := (len(h) - 1) % step; i >= 0 && i < len(h); i += step {
		v := of(h[i])
		some = some || !math.IsNaN(v)
		out = append(out, http.Number(v))
	}
	if !some {
		return nil
	}
	return out
}

func trainLoss(it catalog.Iteration) float64      { return it.TrainLoss }
func validationLoss(it catalog.Iteration) float64 { return it.ValidationLoss }

// Collectors are the metrics that the node counts where things happen.
func (d dashboard) Collectors() []prometheus.Collector { return d.n.Collectors() }
