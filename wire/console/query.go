package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	// maxQuery is the size of a request that holds a text of statements.
	maxQuery = 4 << 20
	// Rows are sent when so many bytes are there, or this long after the first of them.
	lineAt     = 64 << 10
	lineWithin = 100 * time.Millisecond
	// readerTime is how long a browser may take to read what was sent.
	readerTime = 30 * time.Second
)

// request is the body of /api/query and /api/download.
type request struct {
	SQL    string
	Params []*string
	Conn   string // the tab whose connection it is for; "": one of its own
	ID     string // by which /api/cancel finds it
	Limit  int    // of rows a statement; 0: all
}

// decode reads a request, whose texts are charged until done is called.
func (c *Console) decode(w http.ResponseWriter, r *http.Request) (q request, done func(), ok bool) {
	size := r.ContentLength
	if size < 0 || size > maxQuery {
		size = maxQuery
	}
	acct := c.o.Account()
	if err := acct.Grow(2*size + lineAt); err != nil { // as it is sent, as it is read, and a line of the answer
		acct.Close()
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": problem(err)})
		return q, nil, false
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuery)).Decode(&q); err != nil {
		acct.Close()
		refuse(w, http.StatusBadRequest, "a statement is expected: "+err.Error())
		return q, nil, false
	}
	return q, acct.Close, true
}

// run calls do with a connection of the login, under a context that ends with the request, with
// the login, and by /api/cancel. An error of do that is one of the connection ends that.
func (c *Console) run(r *http.Request, in *login, q request, notice func(*pgconn.Notice), do func(context.Context, *pgconn.PgConn) error) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.ctx, cancel)()
	if q.ID != "" {
		in.mu.Lock()
		in.running[q.ID] = cancel
		in.mu.Unlock()
		defer func() {
			in.mu.Lock()
			delete(in.running, q.ID)
			in.mu.Unlock()
		}()
	}
	t := &tab{}
	if q.Conn != "" {
		var err error
		if t, err = in.tab(q.Conn); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notice = notice
	defer func() { t.notice = nil }()
	if t.conn == nil || t.conn.IsClosed() {
		pass := in.pass
		conn, err := c.connect(ctx, r, in.role, "", &pass, func(n *pgconn.Notice) {
			if t.notice != nil {
				t.notice(n)
			}
		})
		if err != nil {
			c.refused(in, err)
			return err
		}
		t.conn = conn
	}
	err := do(ctx, t.conn)
	if q.Conn == "" || t.conn.IsClosed() {
		shut(t.conn)
		t.conn = nil
	}
	return err
}

// query runs a text of statements and sends what they answer, as it comes:
//
//	{"columns":[…]} {"rows":[…]}* {"tag":…}   for each statement
//	{"notice":…}                              whenever there is one
//	{"error":…}                               last, if one failed
func (c *Console) query(w http.ResponseWriter, r *http.Request, in *login) {
	q, done, ok := c.decode(w, r)
	if !ok {
		return
	}
	defer done()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := newLines(w)
	defer out.close()
	err := c.run(r, in, q, func(n *pgconn.Notice) { out.event("notice", described((*pgconn.PgError)(n))) },
		func(ctx context.Context, conn *pgconn.PgConn) error { return results(ctx, conn, q, out) })
	if err != nil && r.Context().Err() == nil {
		out.event("error", problem(err))
	}
}

// results runs the statements. Those without parameters may be several.
func results(ctx context.Context, conn *pgconn.PgConn, q request, out *lines) error {
	// A block that is open would fail with the statement that is cut.
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	block := conn.TxStatus() != 'I'
	from := time.Now()
	one := func(rr *pgconn.ResultReader) (over bool) {
		n, fields := 0, rr.FieldDescriptions()
		if len(fields) > 0 {
			out.event("columns", columns(fields))
		}
		for rr.NextRow() {
			if n++; q.Limit > 0 && n > q.Limit {
				if over = true; !block {
					cut()
					break
				}
				continue
			}
			out.row(rr.Values())
		}
		return over
	}
	tag := func(t string, n int64, over bool) {
		end := map[string]any{"tag": t, "rows": n, "seconds": time.Since(from).Seconds()}
		if over {
			end["cut"] = true
		}
		out.line(end)
		from = time.Now()
	}
	if q.Params != nil {
		rr := conn.ExecParams(ctx, q.SQL, given(q.Params), nil, nil, nil)
		over := one(rr)
		t, err := rr.Close()
		if over && ctx.Err() != nil {
			tag("SELECT", int64(q.Limit), true)
			return nil
		}
		if err == nil {
			tag(t.String(), t.RowsAffected(), over)
		}
		return err
	}
	mrr := conn.Exec(ctx, q.SQL)
	for mrr.NextResult() {
		rr := mrr.ResultReader()
		over := one(rr)
		t, err := rr.Close()
		if over && ctx.Err() != nil {
			_ = mrr.Close() // 57014, which is ours
			tag("SELECT", int64(q.Limit), true)
			return nil
		}
		if err != nil {
			break
		}
		tag(t.String(), t.RowsAffected(), over)
	}
	return mrr.Close()
}

// given are the parameters in the form of the protocol.
func given(params []*string) [][]byte {
	out := make([][]byte, len(params))
	for i, p := range params {
		if p != nil {
			out[i] = []byte(*p)
		}
	}
	return out
}

// column describes a column of a result.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
	OID  uint32 `json:"oid"`
}

func columns(fields []pgconn.FieldDescription) []column {
	out := make([]column, len(fields))
	for i, f := range fields {
		out[i] = column{Name: f.Name, Type: types.Type{OID: types.OID(f.DataTypeOID), Mod: f.TypeModifier}.String(), OID: f.DataTypeOID}
	}
	return out
}

// cancel cancels a query of the login by its id.
func (c *Console) cancel(w http.ResponseWriter, r *http.Request, in *login) {
	q, done, ok := c.decode(w, r)
	if !ok {
		return
	}
	defer done()
	in.mu.Lock()
	stop := in.running[q.ID]
	in.mu.Unlock()
	if stop != nil {
		stop()
	}
	answer(w, http.StatusOK, map[string]bool{"cancelled": stop != nil})
}

// download sends the bytes of a COPY … TO STDOUT: files of csv and Parquet. What goes wrong before the
// first byte is an answer with its error; later it ends the answer short.
func (c *Console) download(w http.ResponseWriter, r *http.Request, in *login) {
	q, done, ok := c.decode(w, r)
	if !ok {
		return
	}
	defer done()
	out := &body{w: w, rc: http.NewResponseController(w)}
	err := c.run(r, in, q, nil, func(ctx context.Context, conn *pgconn.PgConn) error {
		_, err := conn.CopyTo(ctx, out, q.SQL)
		return err
	})
	switch {
	case err == nil:
		_, _ = out.Write(nil) // an empty file has a header too
	case !out.begun:
		answer(w, http.StatusUnprocessableEntity, map[string]any{"error": problem(err)})
	default:
		panic(http.ErrAbortHandler) // a short file must not look like a whole one
	}
}

// body is the body of a download.
type body struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

// Write implements io.Writer.
func (b *body) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.w.Header().Set("Content-Type", "application/octet-stream")
	}
	_ = b.rc.SetWriteDeadline(time.Now().Add(readerTime))
	return b.w.Write(p)
}

// lines writes lines of JSON. Rows are gathered into one line until it is long or old.
type lines struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	stop chan struct{}
	done chan struct{}

	mu   sync.Mutex
	rows []byte // `{"rows":[[…],[…]`, or empty
	err  error  // of a write: the browser has gone
}

func newLines(w http.ResponseWriter) *lines {
	l := &lines{w: w, rc: http.NewResponseController(w), stop: make(chan struct{}), done: make(chan struct{})}
	_ = l.rc.Flush() // the page learns that it runs; an error shows at the first write
	go l.flushing()
	return l
}

// flushing sends rows that wait for others.
func (l *lines) flushing() {
	defer close(l.done)
	tick := time.NewTicker(lineWithin)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.mu.Lock()
			l.flush()
			l.mu.Unlock()
		}
	}
}

func (l *lines) close() {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

func (l *lines) flush() {
	if len(l.rows) == 0 {
		return
	}
	l.rows = append(l.rows, "]}\n"...)
	l.write(l.rows)
	l.rows = l.rows[:0]
}

func (l *lines) write(p []byte) {
	if l.err != nil {
		return
	}
	_ = l.rc.SetWriteDeadline(time.Now().Add(readerTime))
	if _, l.err = l.w.Write(p); l.err == nil {
		l.err = l.rc.Flush()
	}
}

func (l *lines) row(values [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rows) == 0 {
		l.rows = append(l.rows, `{"rows":[`...)
	} else {
		l.rows = append(l.rows, ',')
	}
	l.rows = appendRow(l.rows, values)
	if len(l.rows) >= lineAt {
		l.flush()
	}
}

func (l *lines) event(name string, v any) { l.line(map[string]any{name: v}) }

func (l *lines) line(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = fmt.Appendf(nil, `{"error":{"message":%q}}`, pgerr.From(err).Message)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	l.write(append(b, '\n'))
}

// appendRow writes the values of a row, which are texts, as a list; NULL is null.
func appendRow(dst []byte, values [][]byte) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v == nil {
			dst = append(dst, "null"...)
			continue
		}
		dst = appendText(dst, v)
	}
	return append(dst, ']')
}

// appendText writes a text as JSON. Most need no escape.
func appendText(dst, v []byte) []byte {
	plain := utf8.Valid(v)
	for _, c := range v {
		if c < ' ' || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, v...)
		return append(dst, '"')
	}
	b, _ := json.Marshal(strings.ToValidUTF8(string(v), "\uFFFD")) // a string has a form
	return append(dst, b...)
}

// asJSON is for values that have a form.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
