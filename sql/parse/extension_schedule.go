package parse

import (
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// CreateSchedule is CREATE SCHEDULE [IF NOT EXISTS] name FOR statement RECURRING 'when'.
type CreateSchedule struct {
	Name         string
	IfNotExists  bool
	Statement    *Statement
	Recurring    string
	RecurringPos int
}

// AlterSchedule is ALTER SCHEDULE name {PAUSE | RESUME | RUN | RECURRING 'when'}.
type AlterSchedule struct {
	Name         string
	Action       ScheduleAction
	Recurring    string
	RecurringPos int
}

// ScheduleAction is the action of ALTER SCHEDULE.
type ScheduleAction uint8

// The actions.
const (
	SchedulePause ScheduleAction = iota + 1
	ScheduleResume
	ScheduleRun
	ScheduleRecurring
)

// DropSchedule is DROP SCHEDULE [IF EXISTS] name.
type DropSchedule struct {
	Name     string
	IfExists bool
}

// ShowSchedules is SHOW SCHEDULES.
type ShowSchedules struct{}

// Tag implements Extension.
func (*CreateSchedule) Tag() string { return "CREATE SCHEDULE" }
func (*AlterSchedule) Tag() string  { return "ALTER SCHEDULE" }
func (*DropSchedule) Tag() string   { return "DROP SCHEDULE" }
func (*ShowSchedules) Tag() string  { return "SHOW SCHEDULES" }

func (*CreateSchedule) extension() {}
func (*AlterSchedule) extension()  {}
func (*DropSchedule) extension()   {}
func (*ShowSchedules) extension()  {}

// schedule takes the statements of schedules; nil if none is next.
func (c *cursor) schedule() Extension {
	switch {
	case c.accept("create", "schedule"):
		return c.createSchedule()
	case c.accept("drop", "schedule"):
		d := &DropSchedule{IfExists: c.accept("if", "exists")}
		d.Name = c.ident()
		return d
	case c.accept("show", "schedules"):
		return &ShowSchedules{}
	case c.accept("alter", "schedule"):
		a := &AlterSchedule{Name: c.ident()}
		switch {
		case c.accept("pause"):
			a.Action = SchedulePause
		case c.accept("resume"):
			a.Action = ScheduleResume
		case c.accept("run"):
			a.Action = ScheduleRun
		default:
			c.expect("recurring")
			a.Action, a.RecurringPos = ScheduleRecurring, c.s.Pos(c.i)
			a.Recurring = c.str()
		}
		return a
	}
	return nil
}

// createSchedule takes what follows CREATE SCHEDULE. The statement is all that stands before RECURRING,
// the last but one of the words.
func (c *cursor) createSchedule() *CreateSchedule {
	n := &CreateSchedule{}
	if c.accept("if") {
		c.expect("not", "exists")
		n.IfNotExists = true
	}
	n.Name = c.ident()
	c.expect("for")
	lo, hi := c.i, c.hi-2
	if c.err == nil && (hi <= lo || !c.s.IsWord(hi, "recurring") || c.s.Kind(hi+1) != lex.String) {
		c.failWith(pgerr.New(pgerr.SyntaxError, "CREATE SCHEDULE … FOR statement ends with RECURRING and a text").At(c.s.Pos(c.hi - 1)).
			WithHint("Write RECURRING '@daily' or RECURRING '0 3 * * *'."))
	}
	if c.err != nil {
		return n
	}
	list, err := Parse(c.s.Text[c.s.Toks[lo].Start:c.s.Toks[hi-1].End], c.d)
	if err != nil {
		e := *pgerr.From(err)
		if e.Position > 0 {
			e.Position += utf8.RuneCountInString(c.s.Text[:c.s.Toks[lo].Start])
		}
		c.failWith(&e)
		return n
	}
	n.Statement = list[0] // the text has tokens, and no semicolon
	c.i = hi + 1
	n.RecurringPos = c.s.Pos(c.i)
	n.Recurring = c.str()
	return n
}
