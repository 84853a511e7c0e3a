package spill_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestSpool(t *testing.T) {
	budget, pool := &spill.Budget{Limit: 100}, mem.NewPool("node", 1<<20)
	d := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool, Budget: budget})
	defer d.Close()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := d.Spool(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(make([]byte, 60)); pgerr.CodeOf(err) != pgerr.ConfigurationLimitExceeded {
		t.Error(err)
	}
	if budget.Used() != 60 || pool.Spilled() != 60 {
		t.Errorf("%d bytes are counted, %d spilled", budget.Used(), pool.Spilled())
	}
	if b, err := os.ReadFile(s.Path()); err != nil || len(b) != 60 {
		t.Error(len(b), err)
	}
	cancel()
	if _, err := s.Write([]byte{1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Path()); !os.IsNotExist(err) || budget.Used() != 0 {
		t.Error("the file is left, or counted", err)
	}
}
