package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestNext(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range [][4]string{
		{"@daily", "UTC", "2026-03-01T10:00:00Z", "2026-03-02T00:00:00Z"},
		{"@every 90m", "UTC", "2026-03-01T10:00:00Z", "2026-03-01T11:30:00Z"},
		{"0 3 * * 1", "Europe/Zurich", "2026-03-01T10:00:00Z", "2026-03-02T02:00:00Z"},
		// At the change to summer time there is no half past two.
		{"30 2 * * *", "Europe/Zurich", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		{"*/15 * * * *", "UTC", "2026-12-31T23:50:00Z", "2027-01-01T00:00:00Z"},
	} {
		got, err := Next(tc[0], tc[1], at(tc[2]))
		if err != nil || !got.Equal(at(tc[3])) {
			t.Errorf("%v: %v %v", tc, got, err)
		}
	}
	for _, tc := range [][2]string{{"", "UTC"}, {"often", "UTC"}, {"61 * * * *", "UTC"}, {"@daily", "Nowhere"}, {"0 0 30 2 *", "UTC"}, {"* * * * * *", "UTC"}} {
		if got, err := Next(tc[0], tc[1], at("2026-03-01T10:00:00Z")); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
			t.Errorf("%v: %v %v", tc, got, err)
		}
	}
}

func TestDecide(t *testing.T) {
	now := time.Now()
	due, later := now.Add(-time.Second), now.Add(time.Hour)
	for name, tc := range map[string]struct {
		s    catalog.Schedule
		v    view
		want action
	}{
		"due":                      {catalog.Schedule{Next: due}, view{leads: true}, begin},
		"due now":                  {catalog.Schedule{Next: now}, view{leads: true}, begin},
		"not yet":                  {catalog.Schedule{Next: later}, view{leads: true}, nothing},
		"another leads":            {catalog.Schedule{Next: due}, view{}, nothing},
		"paused":                   {catalog.Schedule{Next: due, Paused: true}, view{leads: true}, nothing},
		"under way":                {catalog.Schedule{Next: due, Running: true}, view{leads: true, self: true, here: true}, nothing},
		"under way elsewhere":      {catalog.Schedule{Next: due, Running: true}, view{leads: true, alive: true}, nothing},
		"its end is not noted yet": {catalog.Schedule{Next: due}, view{leads: true, self: true, here: true}, nothing},
		"its node died":            {catalog.Schedule{Next: due, Running: true}, view{leads: true}, lost},
		"its node died, not ours":  {catalog.Schedule{Next: due, Running: true}, view{}, nothing},
		"this node was restarted":  {catalog.Schedule{Next: due, Running: true}, view{self: true}, lost},
	} {
		tc.v.now = now
		if got := decide(&tc.s, tc.v); got != tc.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// memory is a catalog that applies changes at once, as the replicated one does.
type memory struct {
	mu      sync.Mutex
	st      *catalog.State
	changed chan struct{}
}

func (m *memory) Current() *catalog.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.st
}

func (m *memory) Redefined() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *memory) Commit(_ context.Context, changes []catalog.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	st, err := m.st.Apply(changes)
	if err != nil {
		return err
	}
	m.st = st
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// wait waits until the only schedule is as wanted.
func (m *memory) wait(ok func(s *catalog.Schedule) bool) *catalog.Schedule {
	for {
		changed := m.Redefined()
		if s := catalog.Schedules(m.Current())[0]; ok(s) {
			return s
		}
		<-changed
	}
}

// TestRunners: of several nodes that believe that they lead one runs what is due, once; its error is
// kept; a run of a node that is gone is ended by the one that leads.
func TestRunners(t *testing.T) {
	m := &memory{st: catalog.New(), changed: make(chan struct{})}
	put := func(s *catalog.Schedule) {
		t.Helper()
		if err := m.Commit(t.Context(), []catalog.Change{&catalog.PutSchedule{Schedule: s, ExpectVersion: s.Version}}); err != nil {
			t.Fatal(err)
		}
	}
	put(&catalog.Schedule{OID: 20000, Name: "s", Owner: catalog.BootstrapRoleOID, Recurring: "@yearly", TimeZone: "UTC", Next: time.Now().Add(time.Hour)})
	var mu sync.Mutex
	ran, told := 0, 0
	var fails error
	for self := range uint64(3) {
		r := Start(Config{Self: self + 1, Catalog: m, Leads: func() bool { return true }, Alive: func(id uint64) bool { return id <= 3 }, Log: slog.New(slog.DiscardHandler),
			Failed: func(*catalog.Schedule, error) {
				mu.Lock()
				defer mu.Unlock()
				told++
			},
			Run: func(ctx context.Context, s *catalog.Schedule) error {
				mu.Lock()
				defer mu.Unlock()
				ran++
				return fails
			}})
		defer r.Close()
	}
	for run := int64(1); run <= 3; run++ {
		mu.Lock()
		if fails = nil; run == 2 {
			fails = errors.New("it cannot be")
		}
		mu.Unlock()
		for {
			s := *catalog.Schedules(m.Current())[0]
			s.Next = time.Now()
			err := m.Commit(t.Context(), []catalog.Change{&catalog.PutSchedule{Schedule: &s, ExpectVersion: s.Version}})
			if err == nil {
				break
			}
		}
		s := m.wait(func(s *catalog.Schedule) bool { return s.Runs == run && !s.Running })
		if (s.Error != "") != (run == 2) || s.Ended.Before(s.Started) || !s.Next.After(time.Now()) {
			t.Errorf("run %d: %+v", run, s)
		}
	}
	mu.Lock()
	if ran != 3 || told > 1 {
		t.Errorf("it ran %d times and failed %d times", ran, told)
	}
	mu.Unlock()
	s := *catalog.Schedules(m.Current())[0]
	s.Running, s.Node, s.Runs = true, 9, s.Runs+1
	put(&s)
	if s := m.wait(func(s *catalog.Schedule) bool { return !s.Running }); s.Code != string(pgerr.ConnectionFailure) || s.Runs != 4 {
		t.Errorf("%+v", s)
	}
}
