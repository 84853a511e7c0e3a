package worker

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/exec/deparse"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// remoteHost implements function.Host where the session is on another node: the catalog
// and models are available, session state is not.
type remoteHost struct {
	function.NoSession // plans that are known to need the session run at the gateway (see inspect); this is for the rest
	w                  *Worker
	m                  *startMsg
	load               func() (*catalog.State, error) // its waits end with the run
	mu                 sync.Mutex
	st                 *catalog.State
}

func newRemoteHost(ctx context.Context, w *Worker, m *startMsg) *remoteHost {
	return &remoteHost{NoSession: function.NoSession{Where: "on a node other than the session's"}, w: w, m: m, load: func() (*catalog.State, error) { return w.cfg.State(ctx, m.Version) }}
}

// state returns the catalog, once this node has it at the plan's version or later.
func (h *remoteHost) state() (*catalog.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.st != nil {
		return h.st, nil
	}
	st, err := h.load()
	if err == nil {
		h.st = st
	}
	return st, err
}

// Catalog implements function.Host. A node that cannot catch up returns the state that
// it has.
func (h *remoteHost) Catalog() *catalog.State {
	st, err := h.state()
	if err != nil {
		return catalog.New()
	}
	return st
}

// Session implements function.Host.
func (h *remoteHost) Session() *function.Session {
	if h.m.Session == nil {
		return &function.Session{}
	}
	s := *h.m.Session
	return &s
}

// Setting implements function.Host.
func (h *remoteHost) Setting(string) (string, bool) { return "", false }

// Scorer implements function.Host.
func (h *remoteHost) Scorer(ctx context.Context, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error) {
	st, err := h.state()
	if err != nil {
		return nil, err
	}
	if h.w.cfg.Models == nil {
		return nil, pgerr.Unsupported("this node cannot score models")
	}
	return h.w.cfg.Models.Scorer(ctx, st, ref, pool)
}

// ShowExpr implements function.Deparser.
func (h *remoteHost) ShowExpr(over *catalog.Relation, text string, pretty bool) string {
	return deparse.ShowExpr(h, over, text, pretty)
}

// ViewDef implements function.Deparser.
func (h *remoteHost) ViewDef(view *catalog.Relation, pretty bool, wrap int) string {
	return deparse.ViewDef(h, view, pretty, wrap)
}

// remoteNames resolves the text forms of reg* types over the host's catalog.
type remoteNames struct{ h *remoteHost }

// RegIn implements types.Names.
func (n remoteNames) RegIn(t types.OID, name string) (types.OID, error) {
	return objname.RegIn(n.h, t, name)
}

// RegOut implements types.Names.
func (n remoteNames) RegOut(t types.OID, oid types.OID) (string, bool) {
	return objname.RegOut(n.h, t, oid)
}
