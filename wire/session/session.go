package session

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Engine opens sessions. Its methods may be called from any goroutine.
type Engine interface {
	// Authenticate returns what is needed to check a login: it does not check it.
	// With fresh it knows what any node had committed before; that takes a round of
	// the cluster. An unknown role is reported as one with Exists false, so that the wire
	// can answer after the same exchange as for a wrong password.
	Authenticate(ctx context.Context, role string, fresh bool) (Login, error)
	// Connect opens a session for an authenticated role. FATAL errors: unknown
	// database 3D000, too many connections 53300, not ready 57P03.
	Connect(ctx context.Context, start Startup) (Session, error)
	// Cancel asks the statement of the session with this key to stop. Unknown keys are ignored, as the
	// protocol requires.
	Cancel(pid, secret uint32)
}

// Login is what authentication needs of a role.
type Login struct {
	Exists, CanLogin bool
	// Verifier is the SCRAM-SHA-256 verifier, "" where no password is set.
	Verifier string
	// Super marks a superuser, whose logins are in the audit log.
	Super bool
	// Groups are the roles that the role is a member of.
	Groups []string
	// TrustLoopback: the role has no password, so its loopback connections are admitted without one.
	TrustLoopback bool
}

// Startup is what a client sent when it connected.
type Startup struct {
	User, Database string
	// Params are the other startup parameters, in the order given (application_name, options, …).
	Params [][2]string
	// Remote and Local are the ends of the connection, HOST:PORT.
	Remote, Local string
	TLS           *TLS // nil without
	// Offered: the server offers TLS.
	Offered bool
	// PID and Secret are this connection's cancel key.
	PID, Secret uint32
	// Notify receives NOTICEs and changed parameters. The session calls it from the
	// goroutine that runs the statement, and from no other.
	Notify Notifier
	// Wake is called, from any goroutine and without locks that Session's methods
	// take, once Killed has a reason.
	Wake func()
}

// TLS describes a connection's encryption. The last three are of the client's certificate, "" for none.
type TLS struct {
	Version, Cipher          string
	Bits                     int32
	ClientDN, Serial, Issuer string
}

// Notifier receives the messages of a statement beside its result.
type Notifier interface {
	Notice(*pgerr.Error)
	Parameter(name, value string)
}

// Session is one connection's state. One goroutine at a time calls it.
type Session interface {
	// Parameters are the ParameterStatus values to report at start, in order.
	Parameters() [][2]string
	// Script splits a simple query into its statements, all of which parse, or
	// fails as a whole. An empty script has none. Several are, until Sync, a block without BEGIN.
	Script(ctx context.Context, sql string) ([]*parse.Statement, error)
	// Prepare makes a statement of one of a script, or of nil, the empty query. oids are the parameter
	// types the client gave, 0 for unknown. In a failed transaction all but ROLLBACK and
	// COMMIT are 25P02.
	Prepare(ctx context.Context, text *parse.Statement, oids []types.OID) (Statement, error)
	// Keep stores a statement under a name, and charges it: 53200. PREPARE shares the names: 42P05 where one is taken; "" is
	// the protocol's unnamed statement, which the next replaces. Kept finds one, 26000 if there is none; Forget frees one, if there is.
	Keep(name string, st Statement) error
	Kept(name string) (Statement, error)
	Forget(name string)
	// Cursor describes a cursor that DECLARE made: clients take it for a portal.
	// False if there is none.
	Cursor(name string) ([]Column, bool)
	// Sync ends the implicit transaction, if one is open: commit if ok, else
	// roll back. In an explicit transaction it only notes a failure (ok false).
	Sync(ctx context.Context, ok bool) error
	// TxStatus is 'I', 'T' or 'E'.
	TxStatus() byte
	// Transactions counts those that statements have ended.
	Transactions() uint64
	// Killed returns why the session must end, nil as long as it need not. From any
	// goroutine.
	Killed() error
	// IdleLimit returns how long the session may wait for its client now, and the FATAL error that
	// ends it then; 0 is for ever.
	IdleLimit() (time.Duration, error)
	// Env returns the settings by which values are written as text now (time zone, date style, …).
	Env() *types.Env
	// Charset returns the client's encoding now, nil for UTF8.
	Charset() *charset.Charset
	// Close rolls back and frees everything. It may be called twice.
	Close() error
}

// Statement is a prepared statement.
type Statement interface {
	// Empty reports whether it is the empty query, answered by EmptyQueryResponse.
	Empty() bool
	// Params are the parameter types, all known.
	Params() []types.Type
	// Columns describes the rows; nil where there are none (then Describe
	// answers NoData).
	Columns() []Column
	// Bind makes a portal. The parameters are in the order of Params.
	Bind(ctx context.Context, params []types.Datum) (Portal, error)
	Close() error
}

// Column describes a result column.
type Column struct {
	Name  string
	Type  types.Type
	Table types.OID
	Num   int16
}

// Portal is a statement in execution.
type Portal interface {
	// Columns as of the statement, or of the execution where that decides
	// (EXECUTE, FETCH, SHOW).
	Columns() []Column
	// Copy returns the stream of a portal that moves bytes instead of rows; nil for most.
	Copy() Copy
	// Next continues the execution and returns the next rows, io.EOF at the end. The first call starts
	// the execution. Batches may be kept until Close.
	Next(ctx context.Context) (*batch.Batch, error)
	// Suspend is called when the client may fetch more rows later, or never: no statement runs until
	// the next call of Next, and none can be cancelled or time out. 53200 where the node has no room for that.
	Suspend() error
	// Tag is the command tag, valid after io.EOF (or after the copy's end).
	Tag() string
	// Close stops the execution. It may be called twice.
	Close() error
}

// Copy is a COPY FROM STDIN or TO STDOUT. One of the two groups of methods is
// used, by In.
type Copy interface {
	// In reports whether it is FROM STDIN. Binary and Columns go into CopyInResponse or
	// CopyOutResponse.
	In() bool
	Binary() bool
	Columns() int
	// Write takes the client's bytes in buffers of any size; it may block (back-pressure). Finish ends
	// them; the rows are in then. Fail ends the copy with the client's reason (57014).
	Write(ctx context.Context, p []byte) error
	Finish(ctx context.Context) error
	Fail(reason string) error
	// Read returns the next rows of COPY TO and where in p each ends, io.EOF at the
	// end. They are valid until the next call.
	Read(ctx context.Context) (p []byte, ends []int, err error)
}
