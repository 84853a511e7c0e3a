package node

import (
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestTransactionTimeout: a session whose transaction lasts longer than transaction_timeout ends,
// in a statement of a block, in an implicit transaction, and while it waits for its client.
func TestTransactionTimeout(t *testing.T) {
	n := start(t, 1)[0]
	for _, block := range []bool{true, false} {
		c := connect(t, n, "transaction_timeout = 50")
		if block {
			c.must("begin")
		}
		if _, err := c.do("select pg_sleep(1000)"); !pgerr.Is(err, pgerr.TransactionTimeout) {
			t.Errorf("in a block %v: %v", block, err)
		}
		if _, err := c.do("select 1"); !pgerr.Is(err, pgerr.TransactionTimeout) {
			t.Errorf("the session goes on: %v", err)
		}
	}
	c := connect(t, n, "transaction_timeout = '1h'", "idle_in_transaction_session_timeout = '2h'")
	if limit, _ := c.s.IdleLimit(); limit != 0 {
		t.Errorf("in no transaction it may wait %v", limit)
	}
	c.must("begin")
	if limit, err := c.s.IdleLimit(); limit <= 0 || limit > time.Hour || !pgerr.Is(err, pgerr.TransactionTimeout) {
		t.Errorf("in a transaction it may wait %v: %v", limit, err)
	}
	c.must("set idle_in_transaction_session_timeout = '1s'")
	if limit, err := c.s.IdleLimit(); limit != time.Second || !pgerr.Is(err, pgerr.IdleInTransactionSessionTimeout) {
		t.Errorf("in a transaction it may wait %v: %v", limit, err)
	}
}
