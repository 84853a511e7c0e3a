package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestInterrupts: a cancel ends the running statement, a termination also those that follow; neither
// interrupts a session while it waits for its client.
func TestInterrupts(t *testing.T) {
	woken := 0
	i := &interrupts{timeout: func() time.Duration { return 0 }, transaction: func() time.Duration { return 0 }, wake: func() { woken++ }}
	begin := func() (context.Context, *watch) {
		ctx, w, err := i.watch(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return ctx, w
	}
	outer, a := begin()
	inner, b := begin()
	resting, c := begin()
	c.suspend()
	enough := errors.New("enough")
	i.cancel(enough)
	if context.Cause(outer) != enough || context.Cause(inner) != enough || resting.Err() != nil {
		t.Error(context.Cause(outer), context.Cause(inner), resting.Err())
	}
	a.end()
	b.end()
	next, d := begin()
	if next.Err() != nil || i.Killed() != nil {
		t.Error("a cancel reached a later statement")
	}
	i.terminate(pgerr.New(pgerr.AdminShutdown, "stop"))
	i.terminate(pgerr.New(pgerr.QueryCanceled, "again"))
	if pgerr.CodeOf(context.Cause(next)) != pgerr.AdminShutdown || pgerr.CodeOf(i.Killed()) != pgerr.AdminShutdown || woken != 2 {
		t.Error(context.Cause(next), i.Killed(), woken)
	}
	d.end()
	if resting.Err() != nil {
		t.Error("it rests")
	}
	c.resume()
	if pgerr.CodeOf(context.Cause(resting)) != pgerr.AdminShutdown {
		t.Error("it goes on after its session's end")
	}
	c.end()
	if _, _, err := i.watch(context.Background()); pgerr.CodeOf(err) != pgerr.AdminShutdown || len(i.running) != 0 {
		t.Error(err, len(i.running))
	}
}

// TestStatementTimeout: statement_timeout ends a running statement.
func TestStatementTimeout(t *testing.T) {
	limit := time.Millisecond
	i := &interrupts{timeout: func() time.Duration { return limit }, transaction: func() time.Duration { return 0 }}
	ctx, w, err := i.watch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if pgerr.CodeOf(context.Cause(ctx)) != pgerr.QueryCanceled {
		t.Error(context.Cause(ctx))
	}
	w.end()
	limit = 0
	ctx, w, err = i.watch(context.Background())
	if err != nil || ctx.Err() != nil {
		t.Error(err, ctx.Err())
	}
	w.end()
}

func TestStartupOptions(t *testing.T) {
	for _, c := range []struct {
		text string
		want [][2]string
	}{
		{"", nil},
		{"-c work_mem=64kB  --search-path=a,b", [][2]string{{"work_mem", "64kB"}, {"search_path", "a,b"}}},
		{`-cdatestyle=SQL,\ DMY dialect=mysql`, [][2]string{{"datestyle", "SQL, DMY"}, {"dialect", "mysql"}}},
		{`-c application_name=a\\b`, [][2]string{{"application_name", `a\b`}}},
		{"-c a==b", [][2]string{{"a", "=b"}}},
	} {
		if got, err := startupOptions(c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	if _, err := startupOptions("-c work_mem"); pgerr.CodeOf(err) != pgerr.SyntaxError {
		t.Error(err)
	}
}
