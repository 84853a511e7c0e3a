package session

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// finished is a statement that has ended, with its text.
type finished struct {
	*observe.Statement
	text *parse.Statement
}

// maxUnsaid is how many statements of a pipeline wait for the end of their transaction to be counted.
const maxUnsaid = 64

// finish notes the end of a statement. One that a commit belongs to, since it has no block, is counted
// when that is done.
func (s *Session) finish(text *parse.Statement, x *Execution, tag string, rows int64, err error) {
	if text == nil {
		return
	}
	f := s.finished(text, s.doing.activity.Load().QueryStart, err)
	f.Tag, f.Rows = tag, rows
	// INSERT 0 5, SELECT 7, COPY 3: what was written or returned.
	if n, perr := strconv.ParseInt(tag[strings.LastIndexByte(tag, ' ')+1:], 10, 64); perr == nil {
		f.Rows = n
	}
	if x != nil {
		f.ID, f.Planning, f.Exchanged, f.Operators = x.ID, x.Planning, x.Exchanged, x.Operators
		f.Memory, f.Spilled = x.Pool.Peak(), x.Pool.Spilled()
	}
	s.unsaid = append(s.unsaid, f)
	if err != nil || s.tx == nil || s.tx.Explicit || len(s.unsaid) >= maxUnsaid {
		s.say(nil, 0)
	}
}

func (s *Session) finished(text *parse.Statement, start time.Time, err error) finished {
	f := &observe.Statement{PID: s.start.PID, User: s.login, UserName: s.start.User, Application: s.doing.appName.Load().(string), Start: start,
		Took: time.Since(start), Fingerprint: text.Fingerprint(), Kind: observe.KindOf(text.Tag())}
	if err != nil {
		e := pgerr.From(err)
		f.Code, f.Error = string(e.Code), parse.CutText(e.Message, observe.MaxText)
	}
	return finished{f, text}
}

// say counts the statements that have ended. The commit of the last took so long, and may have failed.
func (s *Session) say(err error, commit time.Duration) {
	for i, f := range s.unsaid {
		if i == len(s.unsaid)-1 {
			f.Took += commit
			if err != nil {
				e := pgerr.From(err)
				f.Code, f.Error = string(e.Code), parse.CutText(e.Message, observe.MaxText)
			}
		}
		_, control := f.text.Node.(*ast.TransactionStmt)
		if f.Brief = control && f.Code == "" && f.Took < observe.Slow; !f.Brief {
			f.Text = f.text.Shown(observe.MaxText)
		}
		logged(s, f)
		s.counts.Ended(f.Statement, f.text.Normal)
	}
	clear(s.unsaid)
	s.unsaid = s.unsaid[:0]
}

// logged writes of a statement what the settings ask for: log_min_duration_statement its figures and its plan,
// auto_explain.log_min_duration its plan.
func logged(s *Session, f finished) {
	k := s.known()
	slow, explained := k.logged >= 0 && f.Took >= k.logged, k.explain.wants(f.Took)
	if !slow && !explained {
		return
	}
	about := []slog.Attr{slog.Duration("duration", f.Took), slog.String("statement", cmp.Or(f.Text, f.text.Shown(observe.MaxText))),
		slog.Uint64("session", uint64(f.PID)), slog.String("user", f.UserName), slog.String("id", f.ID)}
	put := func(level slog.Level, message string, more ...slog.Attr) {
		s.registry.cfg.Log.LogAttrs(context.Background(), level, message, slices.Concat(about, more)...)
	}
	if slow {
		put(slog.LevelInfo, "slow statement", slog.Int64("rows", f.Rows), slog.String("result", cmp.Or(f.Code, "ok")),
			slog.Duration("planning", f.Planning), slog.Int64("memory", f.Memory), slog.Int64("spilled", f.Spilled), slog.String("plan", f.Plan(observe.PlanForm{Actual: true, Times: true})))
	}
	if !explained {
		return
	}
	if plan := f.Plan(k.explain.form); plan != "" {
		put(k.explain.level, "plan", slog.String("plan", plan))
	}
}
