package session

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func planningSession() *Session {
	s := &Session{set: settings.NewSet()}
	s.interrupts.timeout = func() time.Duration { return 0 }
	s.interrupts.transaction = s.interrupts.timeout
	s.doing.activity.Store(&Activity{State: "idle"})
	return s
}

// TestParseCancelled: a session does not wait for a long text's grammar where its statement is to end.
func TestParseCancelled(t *testing.T) {
	s := planningSession()
	long := "select 1" + strings.Repeat(", 1", longText/3)
	if list, err := s.parse(context.Background(), long); err != nil || len(list) != 1 {
		t.Fatal(len(list), err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request"))
	if list, err := s.parse(ctx, long); list != nil || pgerr.CodeOf(err) != pgerr.QueryCanceled {
		t.Error(len(list), err)
	}
	if a := s.doing.activity.Load(); a.State != "idle" || a.Query != long || len(s.running) != 0 {
		t.Error(a.State, len(a.Query), len(s.running))
	}
}

// TestShown: what is parsed or bound is shown as active, but for what a running statement prepares itself.
func TestShown(t *testing.T) {
	s := planningSession()
	end := s.shown("select 1", nil)
	inner := s.shown("select 2", nil)
	if a := s.doing.activity.Load(); a.State != "active" || a.Query != "select 1" {
		t.Error(a.State, a.Query)
	}
	inner()
	if a := s.doing.activity.Load(); a.State != "active" {
		t.Error("the inner one ended the outer one")
	}
	end()
	if a := s.doing.activity.Load(); a.State != "idle" || a.Query != "select 1" {
		t.Error(a.State, a.Query)
	}
}
