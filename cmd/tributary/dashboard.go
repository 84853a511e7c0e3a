package main

import (
	"fmt"
	"time"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/wire/http"
)

// dashboard shows a node on its page.
type dashboard struct{ n *node.Node }

// Ready implements http.Source.
func (d dashboard) Ready() bool { return d.n.Ready() }

// State implements http.Source.
func (d dashboard) State() http.State {
	s := http.State{Node: d.n.Name()}
	for _, m := range d.n.Members() {
		s.Nodes = append(s.Nodes, http.Node{Name: m.Name, State: m.State, Leader: m.Leader, PG: m.PG, Limit: m.MemoryLimit, Used: m.MemoryUsed,
			RSS: m.RSS, Spill: m.Spilled, Cores: m.Cores})
	}
	for _, x := range d.n.Engine().Sessions() {
		i := x.Info()
		s.Sessions = append(s.Sessions, http.Session{PID: i.PID, User: i.UserName, State: i.Activity.State, Query: i.Activity.Query,
			Seconds: time.Since(i.Activity.QueryStart).Seconds(), Memory: i.Memory})
	}
	st := d.n.Catalog()
	for _, j := range st.Jobs() {
		if j.State == catalog.JobRunning {
			s.Jobs = append(s.Jobs, http.Job{Model: j.Model, Phase: j.Phase, Rows: j.Rows, Iteration: j.Iteration, Loss: losses(j.History)})
		}
	}
	for _, m := range st.Models() {
		if v := m.Find(0); v != nil {
			s.Models = append(s.Models, http.Model{Name: m.Name, Algorithm: v.Algorithm, Rows: v.Rows, Loss: losses(v.History),
				TrainLoss: v.TrainLoss, SHA256: fmt.Sprintf("%x", v.SHA256)})
		}
	}
	return s
}

func losses(h []catalog.Iteration) []float64 {
	out := make([]float64, len(h))
	for i, it := range h {
		out[i] = it.TrainLoss
	}
	return out
}
