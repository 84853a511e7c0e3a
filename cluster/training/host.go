package training

import (
	"context"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/exec/deparse"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// host implements query.NamedHost for the functions in a job's query. It does not change while the job
// runs, so that the query may run again, here or on another node.
type host struct {
	query.SystemNames
	function.NoSession
	j       *Jobs
	set     *settings.Set
	st      *catalog.State
	session function.Session
}

// callerOf restores the caller of a job's statement, over the state that it reads.
func (j *Jobs) callerOf(job *catalog.Job, st *catalog.State) (*query.Caller, error) {
	c, h, err := j.restored(job, st)
	if err != nil {
		return nil, err
	}
	if st.Role(c.SessionUser) == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "the role that trains %s was dropped", job.Model)
	}
	h.enter(c, job)
	return c, nil
}

// restored is the caller whose statement a job's record has, and its host, which must enter the session yet.
func (j *Jobs) restored(job *catalog.Job, st *catalog.State) (*query.Caller, *host, error) {
	h := &host{NoSession: function.NoSession{Where: "by a training, which has no session"}, j: j, st: st}
	c, err := query.Decode(job.Session, job.Owner, j.cfg.Shared, func(set *settings.Set) query.NamedHost {
		h.set = set
		return h
	})
	return c, h, err
}

// enter sets what functions know of the session.
func (h *host) enter(c *query.Caller, job *catalog.Job) {
	h.session = c.Session()
	h.session.Path = c.SearchPath(h.st)
	h.session.StatementStart, h.session.ServerStart = c.Values.Now, h.j.started
	h.session.Query, h.session.XID = job.Statement, int64(h.j.cfg.Queries.Next())
}

func (h *host) Catalog() *catalog.State { return h.st }

func (h *host) Session() *function.Session {
	s := h.session
	return &s
}

func (h *host) Setting(name string) (string, bool) {
	v, err := query.Show(h.set, name)
	return v, err == nil
}

func (h *host) Scorer(ctx context.Context, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error) {
	return h.j.cfg.Models.Scorer(ctx, h.st, ref, pool)
}

func (h *host) SettingRows() []sysview.SettingRow   { return query.SettingRows(h.set) }
func (h *host) PreparedRows() []sysview.PreparedRow { return nil }
func (h *host) CursorRows() []sysview.CursorRow     { return nil }

// RegIn implements types.Names.
func (h *host) RegIn(t types.OID, name string) (types.OID, error) { return objname.RegIn(h, t, name) }

// RegOut implements types.Names.
func (h *host) RegOut(t types.OID, oid types.OID) (string, bool) { return objname.RegOut(h, t, oid) }

// ShowExpr implements function.Deparser.
func (h *host) ShowExpr(over *catalog.Relation, text string, pretty bool) string {
	return deparse.ShowExpr(h, over, text, pretty)
}

// ViewDef implements function.Deparser.
func (h *host) ViewDef(view *catalog.Relation, pretty bool, wrap int) string {
	return deparse.ViewDef(h, view, pretty, wrap)
}
