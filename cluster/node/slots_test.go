package node

import (
	"context"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestConnectionSlots: the last connections are reserved for superusers.
func TestConnectionSlots(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("create role plain login")
	var ends []func() error
	try := func(role string, params ...[2]string) error {
		s, err := n.Engine().Connect(context.Background(), startup(role, params...))
		if err == nil {
			ends = append(ends, s.Close)
		}
		return err
	}
	defer func() {
		for _, end := range ends {
			_ = end()
		}
	}()
	refused := func(err error, code pgerr.Code, text string) {
		t.Helper()
		if e := pgerr.From(err); err == nil || e.Code != code || e.Severity != pgerr.SevFatal || e.Message != text {
			t.Fatal(err)
		}
	}
	for i := range 200 - 3 - 1 {
		if err := try("plain"); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	const reserved = "remaining connection slots are reserved for roles with the SUPERUSER attribute"
	refused(try("plain"), pgerr.TooManyConnections, reserved)
	refused(try("plain", [2]string{"max_connections", "1000"}), pgerr.CantChangeRuntimeParam, `parameter "max_connections" cannot be changed`)
	refused(try("plain", [2]string{"options", "-c superuser_reserved_connections=0"}), pgerr.CantChangeRuntimeParam, `parameter "superuser_reserved_connections" cannot be changed`)
	for range 3 {
		if err := try("tributary"); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range []string{"tributary", "plain"} {
		refused(try(role), pgerr.TooManyConnections, "sorry, too many clients already")
	}
	for range 3 {
		_ = ends[len(ends)-1]()
		ends = ends[:len(ends)-1]
	}
	refused(try("plain"), pgerr.TooManyConnections, reserved)
	_ = ends[0]()
	if err := try("plain"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"max_connections": "200", "superuser_reserved_connections": "3"} {
		if got := c.must("show " + name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v", name, got)
		}
	}
}
