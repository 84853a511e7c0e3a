package function

import (
	"context"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Env is the environment of expressions beside their input: one a statement and node. It is
// read-only once in use and may be shared by programs.
type Env struct {
	Types  *types.Env    // time zone, date style, the transaction's clock; nil is types.DefaultEnv
	Params []types.Datum // $1 …, already of the parameters' types
	// Pool is the statement's: programs charge it for what their values take. Without one a program
	// has a small fixed limit.
	Pool *mem.Pool
	// Ctx ends with the statement; nil is one that never does.
	Ctx context.Context
	// Host is nil where there is no session or catalog; functions that need one then fail with 0A000.
	Host Host
}

// Host is the interface of functions to the node and session they run in. Calls may come from
// several goroutines.
type Host interface {
	// Catalog is the statement's view of the catalog.
	Catalog() *catalog.State
	// Session describes the session; the same value for the whole statement.
	Session() *Session
	// Setting returns a setting as SHOW prints it.
	Setting(name string) (string, bool)
	// Set changes a setting (set_config), to what the session began with if value is nil,
	// and returns its new value.
	Set(name string, value *string, local bool) (string, error)
	// Nextval fills out with the next values of a sequence: those of many rows
	// are one commit.
	Nextval(ctx context.Context, sequence types.OID, out []int64) error
	Currval(sequence types.OID) (int64, error)
	Lastval() (int64, error)
	Setval(ctx context.Context, sequence types.OID, value int64, called bool) error
	// Scorer returns a model ready to predict, which is in use until pool, that of a statement, is
	// closed; with nil it may be evicted at once.
	Scorer(ctx context.Context, ref expr.ModelRef, pool *mem.Pool) (Scorer, error)
}

// Sequences is a Host whose node takes values of sequences ahead.
type Sequences interface {
	// SequenceAt returns a sequence's position without those.
	SequenceAt(sequence types.OID) catalog.SeqValue
}

// SequenceAt returns the position of a sequence, as a host sees it.
func SequenceAt(h Host, sequence types.OID) catalog.SeqValue {
	if s, ok := h.(Sequences); ok {
		return s.SequenceAt(sequence)
	}
	return h.Catalog().SequenceAt(sequence)
}

// Reloader is a Host whose node can read its configuration again (pg_reload_conf).
type Reloader interface{ Reload() }

// Session describes the session of a statement.
type Session struct {
	User, SessionUser types.OID
	Database          string
	PID               int32
	XID               int64
	Query             string
	Client, Server    string // the ends of the connection, HOST:PORT
	// Path are the existing schemas of the search path, in order, without pg_catalog where it is only
	// implied; Temp is the temporary schema, 0 if the session has none.
	Path []types.OID
	Temp types.OID
	// StatementStart and ServerStart are clocks; the transaction's is Types.Now.
	StatementStart, ServerStart time.Time
}

// Scorer applies a model: cols are its features in order, n rows each. It returns a column for each
// prediction that is asked for, of which Mode and Output count, and of Parts the first: of a model
// with several targets that one, none for all at once. With scratch the columns need only be valid
// until the next call.
type Scorer interface {
	Score(ctx context.Context, asked []*expr.Predict, cols []arrow.Array, n int, scratch bool) ([]arrow.Array, error)
}

// AdvisoryLocker is a Host that has advisory locks. A key of one number has
// class 0 and wide set.
type AdvisoryLocker interface {
	AdvisoryLock(ctx context.Context, key AdvisoryKey, how AdvisoryMode) (bool, error)
	AdvisoryUnlock(key AdvisoryKey, shared bool) (bool, error)
	AdvisoryUnlockAll() error
}

// AdvisoryKey names an advisory lock: one int8, or two int4 where Two is set; or where Table
// is not 0 the lock of a row of that table, which A is the hash of.
type AdvisoryKey struct {
	A, B  int64
	Two   bool
	Table types.OID
}

// AdvisoryMode says how to take an advisory lock.
type AdvisoryMode struct{ Shared, Xact, Try bool }

// SnapshotExporter is a Host that implements pg_export_snapshot().
type SnapshotExporter interface {
	ExportSnapshot() (string, error)
}

// Deparser is a Host that prints what the catalog keeps as text, as PostgreSQL's
// pg_get_expr and pg_get_viewdef do. Printing needs the parser and the binder,
// which this package may not import.
type Deparser interface {
	// ShowExpr prints an expression over the columns of a relation, which may be nil.
	ShowExpr(over *catalog.Relation, text string, pretty bool) string
	// ViewDef prints the query of a view, its lists in lines of at most wrap bytes,
	// or in one line with a negative wrap.
	ViewDef(view *catalog.Relation, pretty bool, wrap int) string
}

// Signaller is a Host that can cancel and terminate other sessions.
type Signaller interface {
	Signal(pid int32, terminate bool) (bool, error)
}

// StatementCounter is a Host that counts statements by their fingerprints, and can forget those of a
// role and of a fingerprint; 0 stands for all.
type StatementCounter interface {
	ForgetStatements(role types.OID, fingerprint int64) error
}

// NewMeter makes the meter of a program.
func (e *Env) NewMeter() vector.Meter {
	return vector.NewMeter(e.Pool)
}

// Context is Ctx, never nil.
func (e *Env) Context() context.Context {
	if e == nil || e.Ctx == nil {
		return context.Background()
	}
	return e.Ctx
}

// TypesEnv returns the settings that types depend on, never nil.
func (e *Env) TypesEnv() *types.Env {
	if e == nil || e.Types == nil {
		return types.DefaultEnv
	}
	return e.Types
}

// Location returns the session's time zone.
func (e *Env) Location() *time.Location {
	if l := e.TypesEnv().Location; l != nil {
		return l
	}
	return time.UTC
}

// EnumOf finds a user's enum.
func (e *Env) EnumOf(t types.Type) (*catalog.EnumType, error) {
	if e == nil || e.Host == nil {
		return nil, pgerr.Unsupported("enum types need a catalog")
	}
	x := e.Host.Catalog().EnumByOID(t.OID)
	if x == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", t.OID)
	}
	return x, nil
}

// Host returns the host of a call, or the error that there is none.
func (c *Call) Host() (Host, error) {
	if c.Env.Host == nil {
		return nil, pgerr.Unsupported("function %s is not supported here", c.Fn.Name)
	}
	return c.Env.Host, nil
}

// StampAt returns a date or timestamp as a timestamp, or, zoned, as one with time
// zone, for comparing; dates beyond the range of timestamps saturate.
func StampAt(env *Env, v *vector.Vec, t types.Type, i int, zoned bool) int64 {
	x := vector.IntAt(v, i)
	var err error
	switch t.Class() {
	case types.ClassDate:
		y := x
		if zoned {
			x, err = datetime.DateToTimestamptz(x, env.Location())
		} else {
			x, err = datetime.DateToTimestamp(x)
		}
		if err != nil {
			if y > 0 {
				return datetime.TimestampInf - 1
			}
			return datetime.TimestampNegInf + 1
		}
	case types.ClassTimestamp:
		if zoned {
			y := x
			if x, err = datetime.TimestampToTimestamptz(x, env.Location()); err != nil {
				return y
			}
		}
	}
	return x
}
