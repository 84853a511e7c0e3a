package pgerr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestFrom checks which error a client receives. An expired context is not reported as
// statement_timeout: that cancels a statement with its own error.
func TestFrom(t *testing.T) {
	limit := pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-late.Done()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(limit)
	for _, c := range []struct {
		err  error
		code pgerr.Code
		text string
	}{
		{context.Canceled, pgerr.QueryCanceled, "canceling statement due to user request"},
		{fmt.Errorf("waiting: %w", late.Err()), pgerr.ConnectionFailure, "another node did not answer in time"},
		{context.Cause(stopped), pgerr.QueryCanceled, "canceling statement due to statement timeout"},
		{errors.Join(context.DeadlineExceeded, limit), pgerr.QueryCanceled, "canceling statement due to statement timeout"},
		{errors.New("odd"), pgerr.InternalError, "odd"},
	} {
		if e := pgerr.From(c.err); e.Code != c.code || e.Message != c.text {
			t.Errorf("%v: %s %s", c.err, e.Code, e.Message)
		}
	}
	if pgerr.From(nil) != nil || pgerr.CodeOf(nil) != "" {
		t.Error("no error has a code")
	}
}
