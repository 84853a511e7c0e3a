package pg

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/session"
)

// flushAt is how many bytes of answers are gathered before they are written.
const flushAt = 64 << 10

// noticeEvery is how long a notice may wait to be sent with later ones.
const noticeEvery = 200 * time.Millisecond

// conn is one client's connection. Its goroutine owns everything but drained,
// idle, cancel, raw and the deadlines.
type conn struct {
	srv    *Server
	nc     net.Conn
	raw    net.Conn // nc, or the connection below its TLS: for other goroutines
	tls    bool
	cert   *x509.Certificate // the server's on this connection, nil where there are several or none
	in     *reader
	out    []byte
	lent   int64     // charged for a long row in out
	wrote  time.Time // when out was last written
	ctx    context.Context
	cancel context.CancelFunc
	pid    uint32
	secret uint32
	sess   session.Session

	portals map[string]*portal
	// Parameters that have changed since the last ReadyForQuery, and the values that the client knows.
	changed  [][2]string
	reported map[string]string
	// skip discards messages until Sync, after an error in the extended protocol.
	skip bool
	// drained is set when the server shuts down: the connection ends at the next
	// message boundary.
	drained atomic.Bool
	// woken is set when the session must end.
	woken atomic.Bool
	// Of the message that is being waited for: it has begun; there was a time limit until then.
	begun, limited bool
	// waiting while a message is read, idle while that is between statements.
	waiting, idle atomic.Bool
}

// wakeGrace is how long a client that does not read holds up the end of its
// session.
const wakeGrace = 2 * time.Second

// drain ends an idle connection now and a busy one after its statement.
func (c *conn) drain() {
	c.drained.Store(true)
	if c.idle.Load() {
		_ = c.nc.SetReadDeadline(past)
	}
}

// wake ends the connection because its session must end: at once where it
// waits for the client, and soon where the client does not read. Any goroutine
// may call it.
func (c *conn) wake() {
	c.woken.Store(true)
	if c.waiting.Load() {
		_ = c.nc.SetReadDeadline(past)
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(wakeGrace))
}

// serve runs the connection to its end.
func (c *conn) serve() {
	defer c.cancel()
	defer func() { _ = c.nc.Close() }()
	defer func() {
		if r := recover(); r != nil {
			c.srv.log.Error("BUG: panic in a connection", "panic", r, "pid", c.pid, "stack", string(debug.Stack()))
			c.fatal(pgerr.Internal("internal error").WithSeverity(pgerr.SevFatal))
		}
	}()
	defer c.end()
	c.deadline(c.srv.o.StartupTimeout)
	params, err := c.startup()
	if err == nil {
		c.in = newReader(countedReader{c.nc, &c.srv.metrics.in}, maxAuthMessage, nil)
		c.in.begun = c.begin
		c.portals = map[string]*portal{}
		err = c.open(params)
	}
	if err != nil {
		c.fatal(err)
		return
	}
	c.srv.opened(c)
	c.deadline(0)
	c.in.max = c.srv.o.MaxMessage
	if c.srv.o.Account != nil {
		c.in.account = c.srv.o.Account()
		defer c.in.account.Close()
	}
	for {
		msg, err := c.receive()
		if err == nil {
			err = c.handle(msg)
		} else if r := refusal(err); r != nil {
			err = c.refuse(r)
		} else {
			c.lost(err)
			return
		}
		if err != nil {
			if !errors.Is(err, errGone) {
				c.fatal(err)
			}
			return
		}
	}
}

// refusal returns the refused message that err reports; nil for other errors.
func refusal(err error) *refused {
	var r *refused
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// receive reads the next message of the loop; while it waits the connection is
// idle, for as long as the session allows.
func (c *conn) receive() (pgproto3.FrontendMessage, error) {
	limit, why := c.sess.IdleLimit()
	c.idle.Store(true)
	defer c.idle.Store(false)
	if c.drained.Load() {
		return nil, errDrained
	}
	return c.await(limit, why)
}

// await reads a message. If none begins within limit, unless that is 0, it returns the error why.
func (c *conn) await(limit time.Duration, why error) (pgproto3.FrontendMessage, error) {
	if limit > 0 {
		_ = c.nc.SetReadDeadline(time.Now().Add(limit))
	}
	c.begun, c.limited = false, limit > 0
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	if c.woken.Load() {
		return nil, errDrained
	}
	msg, err := c.in.next()
	if errors.Is(err, os.ErrDeadlineExceeded) && limit > 0 && !c.begun && !c.drained.Load() && !c.woken.Load() {
		return nil, why
	}
	return msg, err
}

// begin records that a message has begun.
func (c *conn) begin() {
	c.begun = true
	c.idle.Store(false)
	if c.limited {
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	if c.woken.Load() {
		_ = c.nc.SetReadDeadline(past)
	}
}

var errDrained = errors.New("server shuts down")

// lost ends the connection after a failed read.
func (c *conn) lost(err error) {
	var e *pgerr.Error
	switch {
	case c.sess.Killed() != nil:
		c.fatal(c.sess.Killed())
	case errors.Is(err, errDrained), c.drained.Load():
		c.fatal(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	case errors.As(err, &e):
		c.fatal(e)
	}
	// Anything else means that the client has gone.
}

// refuse answers a message that was read but refused.
func (c *conn) refuse(r *refused) error {
	switch r.typ {
	case 'd', 'c', 'f':
		return nil // of a copy that has failed
	case 'Q', 'F':
		if c.skip {
			return nil
		}
		return c.failed(r.err)
	case 'S':
		return c.sync()
	}
	if c.skip {
		return nil
	}
	return c.extended(r.err)
}

// end frees what the connection holds.
func (c *conn) end() {
	for _, p := range c.portals {
		p.close()
	}
	if c.sess != nil {
		if err := c.sess.Close(); err != nil {
			c.srv.log.Warn("closing a session", "error", err, "pid", c.pid)
		}
	}
}

// fatal sends a last error and ends the connection.
func (c *conn) fatal(err error) {
	if errors.Is(err, errGone) {
		return
	}
	e := *pgerr.From(err)
	e.Severity = pgerr.SevFatal
	c.sendError(&e)
	_ = c.flush()
}

// send queues a message.
func (c *conn) send(m pgproto3.BackendMessage) {
	out, err := m.Encode(c.out)
	if err != nil {
		c.srv.log.Error("BUG: a message does not encode", "error", err)
		return
	}
	c.out = out
}

// flush writes what is queued; it blocks while the client does not read.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	n, err := c.nc.Write(c.out)
	c.srv.metrics.out.Add(int64(n))
	c.wrote = time.Now()
	if cap(c.out) > 4*flushAt {
		c.out = nil
	}
	c.out = c.out[:0]
	if c.lent > 0 {
		c.in.account.Shrink(c.lent)
		c.lent = 0
	}
	if err != nil {
		return errGone
	}
	return nil
}

func (c *conn) flushFull() error {
	if len(c.out) >= flushAt {
		return c.flush()
	}
	return nil
}

// closePortals closes all portals. They live no longer than their transaction, whichever
// protocol ended it: a simple COMMIT ends those of the extended one.
func (c *conn) closePortals() {
	for name, p := range c.portals {
		p.close()
		delete(c.portals, name)
	}
}

// ready ends a cycle.
func (c *conn) ready() error {
	status := c.sess.TxStatus()
	if status == 'I' {
		c.closePortals()
	}
	for _, p := range c.changed {
		c.report(p[0], p[1])
	}
	c.changed = c.changed[:0]
	c.send(&pgproto3.ReadyForQuery{TxStatus: status})
	return c.flush()
}

func (c *conn) sendError(e *pgerr.Error) { c.send(c.encoded(response(e))) }

func response(e *pgerr.Error) *pgproto3.ErrorResponse {
	sev := e.Severity
	if sev == "" {
		sev = pgerr.SevError
	}
	return &pgproto3.ErrorResponse{
		Severity: string(sev), SeverityUnlocalized: string(sev), Code: string(e.Code), Message: e.Message, Detail: e.Detail, Hint: e.Hint,
		Position: int32(e.Position), Where: e.Where, SchemaName: e.Schema, TableName: e.Table, ColumnName: e.Column,
		DataTypeName: e.DataType, ConstraintName: e.Constraint,
	}
}

// Notice implements session.Notifier. Progress must be visible while it happens, so a notice is
// written at once, except in a burst.
func (c *conn) Notice(e *pgerr.Error) {
	c.send((*pgproto3.NoticeResponse)(c.encoded(response(e))))
	if time.Since(c.wrote) >= noticeEvery || len(c.out) >= flushAt {
		_ = c.flush()
	}
}

// Parameter implements session.Notifier. What has changed is sent at the end of the cycle, as PostgreSQL
// does since 14.
func (c *conn) Parameter(name, value string) {
	for i := range c.changed {
		if c.changed[i][0] == name {
			c.changed[i][1] = value
			return
		}
	}
	c.changed = append(c.changed, [2]string{name, value})
}

// report sends a parameter's value, unless the client knows it.
func (c *conn) report(name, value string) {
	out, err := c.encode(value)
	if last, ok := c.reported[name]; err != nil || ok && last == value {
		return
	}
	c.reported[name] = value
	c.send(&pgproto3.ParameterStatus{Name: name, Value: string(out)})
}

// handle answers one message. Its error ends the connection.
func (c *conn) handle(msg pgproto3.FrontendMessage) error {
	switch msg.(type) {
	case *pgproto3.Terminate:
		return errGone
	case *pgproto3.Sync:
		return c.sync()
	}
	if c.skip {
		return nil
	}
	switch m := msg.(type) {
	case *pgproto3.Query:
		return c.query(m.String)
	case *pgproto3.Parse:
		return c.extended(c.parse(m))
	case *pgproto3.Bind:
		return c.extended(c.bind(m))
	case *pgproto3.Describe:
		return c.extended(c.describe(m))
	case *pgproto3.Execute:
		return c.extended(c.execute(m))
	case *pgproto3.Close:
		return c.extended(c.closeNamed(m))
	case *pgproto3.Flush:
		return c.flush()
	case *pgproto3.FunctionCall:
		return c.failed(pgerr.Unsupported("function call messages are not supported"))
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		// The rest of a COPY that has failed, which is ignored by the protocol.
		return nil
	}
	return pgerr.New(pgerr.ProtocolViolation, "invalid frontend message type")
}

// extended reports an error of the extended protocol: messages are discarded until Sync.
func (c *conn) extended(err error) error {
	if err == nil {
		return c.flushFull()
	}
	if errors.Is(err, errGone) {
		return err
	}
	e := pgerr.From(err)
	if e.Severity == pgerr.SevFatal {
		return e
	}
	c.sendError(e)
	c.skip = true
	// At once, as PostgreSQL does: a client that waits for the answers before a Flush is discarded with
	// all else, and would wait for ever.
	return c.flush()
}

// sync ends the implicit transaction of an extended exchange.
func (c *conn) sync() error {
	ok := !c.skip
	c.skip = false
	if err := c.sess.Sync(c.ctx, ok); err != nil {
		e := pgerr.From(err)
		if e.Severity == pgerr.SevFatal {
			return e
		}
		c.sendError(e)
	}
	return c.ready()
}
