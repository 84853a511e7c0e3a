package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// cancelFault cancels or terminates sessions of the workloads on a node, whatever they
// are doing.
func (c *cluster) cancelFault(ctx context.Context, f fault) {
	r := f.random()
	ctx, cancel := context.WithTimeout(ctx, f.hold)
	defer cancel()
	function := map[string]string{"cancel": "pg_cancel_backend", "terminate": "pg_terminate_backend"}[f.variant]
	for ctx.Err() == nil {
		conn, err := c.dial(ctx, f.nodes[r.IntN(len(f.nodes))], "nemesis", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			wait(ctx, 20*time.Millisecond)
			continue
		}
		for range 8 {
			wait(ctx, time.Duration(r.IntN(30))*time.Millisecond)
			_, err := conn.Exec(ctx, fmt.Sprintf("SELECT %s(pid) FROM pg_stat_activity WHERE application_name LIKE 'nemesis\\_%%' AND state = 'active' LIMIT 1 OFFSET %d",
				function, r.IntN(3)))
			if err != nil {
				break
			}
		}
		end, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = conn.Close(end)
		cancel()
	}
}
