package worker

import (
	"fmt"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/planner/plan"
)

// shortTask is how long a thread works on a stage that is worth to be kept.
const shortTask = 2 * time.Millisecond

// noted keeps what the threads of a task have done, which are done.
func (c *Config) noted(statement string, s *plan.Stage, t *task.Task) {
	if c.Observe == nil {
		return
	}
	var list []*observe.Task
	rows := int64(0)
	for _, x := range t.Threads() {
		if rows += x.Rows; x.End.Sub(x.Start) >= shortTask {
			list = append(list, &observe.Task{Statement: statement, Stage: int(s.ID), Kind: kindOf(s.Root), Start: x.Start, End: x.End, Rows: x.Rows})
		}
	}
	if list == nil {
		return // most statements: they share no lock
	}
	sent, _ := t.Sent() // by all threads together
	for _, x := range list {
		x.Bytes = int64(float64(sent[0]) * float64(x.Rows) / float64(max(rows, 1)))
	}
	c.Observe.Tasks.Add(list...)
}

// kindOf says in a word what a stage does: what the first node does that is more than to pick rows and columns.
func kindOf(n plan.Node) string {
	for {
		switch n.(type) {
		case *plan.Project, *plan.Filter, *plan.Limit, *plan.Collect:
			if kids := n.Children(); len(kids) == 1 {
				n = kids[0]
				continue
			}
		case nil:
			return ""
		}
		return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."))
	}
}

// Transfers are what the exchanges of this node that are open have sent so far.
func (w *Worker) Transfers() []*observe.Transfer { return w.hub.Transfers() }
