package node

import (
	"context"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestConnectionLimit: with CONNECTION LIMIT 0 a role cannot connect, and without one any number of
// times. The limit does not apply to superusers.
func TestConnectionLimit(t *testing.T) {
	n := start(t, 1)[0]
	connect(t, n).must(`create role nobody login connection limit 0; create role single login connection limit 1; create role any_number login;
		create role chief login superuser connection limit 0`)
	for _, x := range []struct {
		role string
		want int
	}{{"nobody", 0}, {"single", 1}, {"any_number", 3}, {"chief", 3}} {
		for i := range 3 {
			s, err := n.Engine().Connect(context.Background(), startup(x.role))
			if err == nil {
				t.Cleanup(func() { _ = s.Close() })
			}
			if i < x.want && err != nil || i >= x.want && pgerr.CodeOf(err) != pgerr.TooManyConnections {
				t.Errorf("connection %d of %s: %v", i, x.role, err)
			}
		}
	}
}
