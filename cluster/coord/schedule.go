package coord

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/schedule"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// maySchedule returns the schedule of a name that the statement's role may change.
func maySchedule(x *session.Execution, st *catalog.State, name string) (*catalog.Schedule, error) {
	for _, s := range catalog.Schedules(st) {
		if s.Name == name {
			if !st.Inherits(x.Caller.Role, s.Owner) {
				return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of schedule %s", name)
			}
			return s, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "schedule %q does not exist", name)
}

// change is a statement that changes what the catalog has. No change is one without an effect.
func change(tag string, plan func(x *session.Execution, st *catalog.State) (catalog.Change, error)) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if err := x.Txn.Writable(tag); err != nil {
			return "", err
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		ch, err := plan(x, st)
		if err != nil || ch == nil {
			return tag, err
		}
		_, err = x.Txn.Add(ch)
		return tag, err
	}), nil
}

// createSchedule handles CREATE SCHEDULE. The statement is not checked but for its syntax: what it is
// about may be made later.
func createSchedule(c *dispatcher, n *parse.CreateSchedule) (*session.Command, error) {
	if _, ok := n.Statement.Extension.(*parse.CreateSecret); ok {
		return nil, pgerr.Unsupported("a schedule cannot make a secret: its statement is kept as it is")
	}
	switch x := n.Statement.Node.(type) {
	case *ast.TransactionStmt:
		return nil, pgerr.Unsupported("a schedule runs a statement in a transaction of its own: %s is not for it", n.Statement.Tag())
	case *ast.CopyStmt:
		if x.Filename == "" {
			return nil, pgerr.Unsupported("a schedule has no client: COPY needs a file of the server")
		}
	}
	return change("CREATE SCHEDULE", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		for _, s := range catalog.Schedules(st) {
			if s.Name != n.Name {
				continue
			}
			e := pgerr.New(pgerr.DuplicateObject, "schedule %q already exists", n.Name)
			if !n.IfNotExists {
				return nil, e
			}
			c.s.Notice(pgerr.New(pgerr.DuplicateObject, "%s, skipping", e.Message).WithSeverity(pgerr.SevNotice))
			return nil, nil
		}
		set := c.s.Settings()
		now := time.Now().UTC()
		zone, err := set.Get("timezone")
		if err != nil {
			return nil, err
		}
		next, err := schedule.Next(n.Recurring, zone, now)
		if err != nil {
			return nil, pgerr.From(err).At(n.RecurringPos)
		}
		oid, err := c.oids.New(x.Ctx)
		if err != nil {
			return nil, err
		}
		s := &catalog.Schedule{OID: oid, Name: n.Name, Owner: x.Caller.Role, Statement: n.Statement.Text, Recurring: n.Recurring, TimeZone: zone, CreatedAt: now, Next: next,
			Settings: query.Kept(set)}
		return &catalog.PutSchedule{Schedule: s}, nil
	})
}

func alterSchedule(n *parse.AlterSchedule) (*session.Command, error) {
	return change("ALTER SCHEDULE", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		s, err := maySchedule(x, st, n.Name)
		if err != nil {
			return nil, err
		}
		up := *s
		now := time.Now().UTC()
		switch n.Action {
		case parse.SchedulePause:
			up.Paused = true
		case parse.ScheduleRun:
			if up.Next = now; up.Paused {
				return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "schedule %q is paused", n.Name).WithHint("ALTER SCHEDULE %s RESUME comes first.", n.Name)
			}
		case parse.ScheduleRecurring:
			up.Recurring = n.Recurring
			fallthrough
		case parse.ScheduleResume:
			up.Paused = up.Paused && n.Action == parse.ScheduleRecurring
			if up.Next, err = schedule.Next(up.Recurring, up.TimeZone, now); err != nil {
				return nil, pgerr.From(err).At(n.RecurringPos)
			}
		}
		return &catalog.PutSchedule{Schedule: &up, ExpectVersion: s.Version}, nil
	})
}

func dropSchedule(c *dispatcher, n *parse.DropSchedule) (*session.Command, error) {
	return change("DROP SCHEDULE", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		s, err := maySchedule(x, st, n.Name)
		if n.IfExists && pgerr.CodeOf(err) == pgerr.UndefinedObject {
			c.s.Notice(pgerr.New(pgerr.SuccessfulCompletion, "%s, skipping", pgerr.From(err).Message).WithSeverity(pgerr.SevNotice))
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return &catalog.DropSchedule{OID: s.OID}, nil
	})
}

// startSchedules starts the node's runner of schedules.
func (e *Engine) startSchedules() *schedule.Runner {
	return schedule.Start(schedule.Config{Self: e.cfg.Node.ID, Catalog: e.cfg.Meta, Leads: e.cfg.Members.Leads, Alive: e.cfg.Members.Alive, Run: e.runSchedule, Log: e.cfg.Log,
		Failed: func(s *catalog.Schedule, err error) {
			e.cfg.Log.Warn("a schedule's statement failed", "schedule", s.Name, "error", err)
			if e.cfg.Observe != nil {
				e.cfg.Observe.Event("schedule", "warning", s.Name, pgerr.From(err).Message)
			}
		}})
}

// ownPIDs is from where sessions of the node itself are numbered: clients' are below.
const ownPIDs = 1 << 30

// silent takes what statements say that nobody listens to.
type silent struct{}

// Notice implements session.Notifier.
func (silent) Notice(*pgerr.Error) {}

// Parameter implements session.Notifier.
func (silent) Parameter(string, string) {}

// runSchedule runs a schedule's statement in a session of its owner.
func (e *Engine) runSchedule(ctx context.Context, s *catalog.Schedule) error {
	if err := e.cfg.Meta.Barrier(ctx); err != nil {
		return err
	}
	owner := e.cfg.Meta.Current().Role(s.Owner)
	if owner == nil {
		return pgerr.New(pgerr.UndefinedObject, "the owner of schedule %q does not exist", s.Name)
	}
	params := [][2]string{{"application_name", "schedule " + s.Name}}
	for _, v := range s.Settings {
		if v.Name != "application_name" {
			params = append(params, [2]string{v.Name, v.Value})
		}
	}
	return e.runOwn(ctx, owner.Name, s.Statement, params...)
}

// runOwn runs a statement of the node's own in a session of a role.
func (e *Engine) runOwn(ctx context.Context, role, statement string, params ...[2]string) (err error) {
	x, err := e.Connect(ctx, session.Startup{User: role, Database: catalog.DatabaseName, PID: ownPIDs + rand.Uint32N(ownPIDs), Secret: rand.Uint32(), Notify: silent{}, Own: true, Params: params})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	list, err := x.Script(ctx, statement)
	for _, st := range list {
		if err == nil {
			err = runAlone(ctx, x, st)
		}
	}
	if serr := x.Sync(ctx, err == nil); err == nil {
		err = serr
	}
	return err
}

// runAlone runs a statement without parameters and drops its rows.
func runAlone(ctx context.Context, x *session.Session, st *parse.Statement) error {
	p, err := x.Prepare(ctx, st, nil)
	if err != nil {
		return err
	}
	portal, err := p.Bind(ctx, nil)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = portal.Next(ctx)
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, portal.Close())
}
