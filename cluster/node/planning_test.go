package node

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestPlanningEnds: a statement whose planning would take hours ends at a timeout, cancel or
// termination; after a timeout or cancel the session is usable.
func TestPlanningEnds(t *testing.T) {
	n := start(t, 1)[0]
	var long strings.Builder
	long.WriteString("with c0 as (select 1 x)")
	for i := range 10000 {
		fmt.Fprintf(&long, ", c%d as (select x + 1 x from c%d)", i+1, i)
	}
	long.WriteString(" select * from c10000")
	for _, front := range []string{"", "explain ", "create table u as "} {
		c := connect(t, n)
		c.must("create temp table t (a int)")
		c.must("begin")
		c.must("insert into t values (1)")
		c.must("savepoint s")
		c.must("set statement_timeout = 300") // until the rollback: what is short may take as long on a busy machine
		if _, err := c.do(front + long.String()); pgerr.CodeOf(err) != pgerr.QueryCanceled {
			t.Errorf("%q timed out: %v", front, err)
		}
		c.must("rollback to s")
		if got := c.must("select a from t"); len(got) != 1 {
			t.Errorf("rows %v", got)
		}
		for _, told := range []struct {
			terminate bool
			code      pgerr.Code
		}{{false, pgerr.QueryCanceled}, {true, pgerr.AdminShutdown}} {
			ctx, ended := context.WithCancel(context.Background())
			stopped := make(chan struct{})
			go func() { // a cancel that arrives between statements has no effect, so it is repeated
				defer close(stopped)
				for ctx.Err() == nil {
					_, _ = n.Engine().Signal(session.Signal{PID: c.s.PID(), By: catalog.BootstrapRoleOID, Terminate: told.terminate})
					runtime.Gosched()
				}
			}()
			_, err := c.do(front + long.String())
			ended()
			<-stopped
			if pgerr.CodeOf(err) != told.code {
				t.Errorf("%q: %v instead of %s", front, err, told.code)
			}
			if told.code == pgerr.QueryCanceled {
				c.must("rollback")
			}
		}
	}
}
