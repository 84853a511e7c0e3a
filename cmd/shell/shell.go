// Package shell is an interactive SQL shell over the Postgres protocol, for
// machines without psql. It speaks as psql does where it can.
package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributarydb/tributary/cmd/flags"
)

// Exit codes are psql's: a script's error, and a connection that was lost or
// never made.
const (
	exitScript     = 3
	exitConnection = 2
)

// Exit is an error that names the code the process should end with. What went
// wrong has been printed.
type Exit struct{ Code int }

func (e Exit) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// IO is where the shell reads and writes. Interrupts, where not nil, are the
// person's Ctrl-C.
type IO struct {
	In          io.Reader
	Out, Err    io.Writer
	Interactive bool
	Interrupts  <-chan os.Signal
}

// Terminal is the process's own input and output. The returned function stops catching
// Ctrl-C.
func Terminal() (IO, func()) {
	std := IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	st, err := os.Stdin.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		// In a pipe Ctrl-C ends the process; the server notices that the connection is
		// closed.
		signal.Reset(os.Interrupt)
		return std, func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	std.Interactive, std.Interrupts = true, c
	return std, func() { signal.Stop(c) }
}

// session is a shell with its connection.
type session struct {
	io       IO
	conf     *pgx.ConnConfig
	conn     *pgx.Conn
	timing   bool
	expanded bool
	stop     bool // at the first error
	quiet    bool
	lost     bool
	failed   bool
	sql      string // the text that runs, for positions in notices
	in       *bufio.Reader
}

// Main runs the command. It returns nil, flag.ErrHelp, an Exit, or an error that has
// not been printed.
func Main(ctx context.Context, args []string, std IO) error {
	s := &session{io: std}
	commands, files, err := s.parse(args)
	if err != nil {
		return err
	}
	if s.conn, err = pgx.ConnectConfig(ctx, s.conf); err != nil {
		fmt.Fprintln(std.Err, "tributary sql: error:", err)
		return Exit{exitConnection}
	}
	defer func() { _ = s.conn.Close(context.WithoutCancel(ctx)) }()
	switch {
	case len(commands) > 0 || len(files) > 0:
		s.io.Interactive = false
		for _, c := range commands {
			if s.goesOn() {
				s.script(ctx, strings.NewReader(c))
			}
		}
		for _, f := range files {
			if s.goesOn() {
				s.file(ctx, f)
			}
		}
	default:
		if std.Interactive && !s.quiet {
			fmt.Fprint(std.Out, "Type \\? for help, \\q to quit.\n\n")
		}
		s.script(ctx, std.In)
	}
	switch {
	case s.lost:
		return Exit{exitConnection}
	case s.failed && s.stop:
		return Exit{exitScript}
	case s.failed && len(commands) > 0:
		return Exit{1}
	}
	return nil
}

func (s *session) goesOn() bool { return !s.lost && !(s.failed && s.stop) }

func (s *session) parse(args []string) (commands, files list, err error) {
	fs := flags.New("sql", "Usage: tributary sql [flags] [DATABASE | URL]\n")
	fs.SetOutput(s.io.Err)
	dsn := fs.String("dsn", "", "server, as postgres://user@host:port/database or key=value text")
	host := fs.String("host", "", "host (default: PGHOST or 127.0.0.1)")
	port := fs.String("port", "", "port (default: PGPORT or 5432)")
	user := fs.String("user", "", "role (default: PGUSER or tributary)")
	database := fs.String("database", "", "database (default: PGDATABASE or tributary)")
	for short, long := range map[string]*string{"h": host, "p": port, "U": user, "d": database} {
		fs.StringVar(long, short, "", "short for the long name")
	}
	fs.Var(&commands, "c", "statement or \\command to run, then end; may be given more than once")
	fs.Var(&files, "f", "file to run, then end; may be given more than once")
	fs.BoolVar(&s.stop, "stop", false, "stop at the first error (psql's ON_ERROR_STOP) and exit with 3")
	fs.BoolVar(&s.expanded, "x", false, "expanded output")
	fs.BoolVar(&s.quiet, "q", false, "no greeting and no command tags")
	if err := fs.Parse(args); err != nil {
		return nil, nil, err
	}
	switch fs.NArg() {
	case 0:
	case 1:
		if strings.Contains(fs.Arg(0), "=") || strings.Contains(fs.Arg(0), "://") {
			*dsn = fs.Arg(0)
		} else {
			*database = fs.Arg(0)
		}
	default:
		return nil, nil, fmt.Errorf("unexpected argument %q", fs.Arg(1))
	}
	if *dsn == "" {
		*dsn = keyValues("host", first(*host, os.Getenv("PGHOST"), "127.0.0.1"), "port", first(*port, os.Getenv("PGPORT"), "5432"),
			"user", first(*user, os.Getenv("PGUSER"), "tributary"), "dbname", first(*database, os.Getenv("PGDATABASE"), "tributary"))
	}
	if s.conf, err = pgx.ParseConfig(*dsn); err != nil {
		return nil, nil, err
	}
	if s.conf.RuntimeParams["application_name"] == "" {
		s.conf.RuntimeParams["application_name"] = "tributary sql"
	}
	s.conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		fmt.Fprintf(s.io.Err, "%s:  %s\n", n.Severity, n.Message)
		if n.Position > 0 {
			fmt.Fprint(s.io.Err, caret(s.sql, int(n.Position)))
		}
		fmt.Fprint(s.io.Err, more(n.Detail, n.Hint))
	}
	return commands, files, nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func keyValues(kv ...string) string {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for i := 0; i < len(kv); i += 2 {
		fmt.Fprintf(&b, "%s='%s' ", kv[i], quote.Replace(kv[i+1]))
	}
	return b.String()
}

func (s *session) file(ctx context.Context, path string) {
	f, err := os.Open(path)
	if err != nil {
		s.fail(err, "")
		return
	}
	defer f.Close()
	interactive := s.io.Interactive
	s.io.Interactive = false
	s.script(ctx, f)
	s.io.Interactive = interactive
}

// script reads statements and \commands to the end of the input.
func (s *session) script(ctx context.Context, in io.Reader) {
	var sp splitter
	r := bufio.NewReader(in)
	defer func(outer *bufio.Reader) { s.in = outer }(s.in)
	s.in = r
	for s.goesOn() && ctx.Err() == nil {
		s.prompt(&sp)
		line, err := r.ReadString('\n')
		if line == "" && err != nil {
			break
		}
		line = strings.TrimRight(line, "\r\n")
		if cmd := strings.TrimSpace(line); strings.HasPrefix(cmd, `\`) && !sp.open() {
			if s.command(ctx, cmd) {
				return
			}
			continue
		}
		sp.add(line)
		s.runAll(ctx, sp.take())
	}
	if s.io.Interactive {
		fmt.Fprintln(s.io.Out)
		return // an incomplete statement is not run
	}
	s.runAll(ctx, sp.flush())
}

func (s *session) runAll(ctx context.Context, statements []string) {
	for _, sql := range statements {
		if !s.goesOn() {
			return
		}
		s.run(ctx, sql)
	}
}

func (s *session) prompt(sp *splitter) {
	if !s.io.Interactive {
		return
	}
	mark, state := sp.prompt(), ""
	switch s.conn.PgConn().TxStatus() {
	case 'T':
		state = "*"
	case 'E':
		state = "!"
	}
	fmt.Fprintf(s.io.Out, "%s%s%s# ", s.conf.Database, mark, state)
}

func (s *session) fail(err error, sql string) {
	s.failed = true
	fmt.Fprint(s.io.Err, failure(err, sql))
	if s.conn.IsClosed() {
		s.lost = true
		fmt.Fprintln(s.io.Err, "connection to server was lost")
	}
}

// run sends one text; Ctrl-C asks the server to cancel it.
func (s *session) run(ctx context.Context, sql string) {
	s.sql = sql
	select {
	case <-s.io.Interrupts: // a late interrupt of an earlier statement
	default:
	}
	start := time.Now()
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
		case <-s.io.Interrupts:
			_ = s.conn.PgConn().CancelRequest(context.WithoutCancel(ctx))
		}
	}()
	err := s.exchange(ctx, sql)
	close(done)
	<-ended
	if err != nil {
		s.fail(err, sql)
	}
	if s.timing {
		fmt.Fprintf(s.io.Out, "Time: %.3f ms\n", float64(time.Since(start).Microseconds())/1000)
	}
}

func (s *session) exchange(ctx context.Context, sql string) error {
	switch copyOf(sql) {
	case " to stdout":
		_, err := s.conn.PgConn().CopyTo(ctx, s.io.Out, sql)
		return err
	case " from stdin":
		rows := &copyLines{from: s.in}
		tag, err := s.conn.PgConn().CopyFrom(ctx, rows, sql)
		if derr := rows.drain(); err == nil {
			err = derr
		}
		if err == nil && !s.quiet {
			fmt.Fprintln(s.io.Out, tag)
		}
		return err
	}
	res := s.conn.PgConn().Exec(ctx, sql)
	for res.NextResult() {
		s.show(res.ResultReader())
	}
	return res.Close()
}

// copyOf returns the direction of a COPY through the connection: "", " to stdout" or "
// from stdin".
func copyOf(sql string) string {
	words := strings.Fields(strings.ToLower(sql))
	if len(words) == 0 || words[0] != "copy" {
		return ""
	}
	text := strings.Join(words, " ") + " "
	for _, way := range []string{" to stdout", " from stdin"} {
		if strings.Contains(text, way+" ") || strings.Contains(text, way+"(") {
			return way
		}
	}
	return ""
}

// copyLines are the lines below a COPY … FROM STDIN, up to one of \. or the end.
type copyLines struct {
	from *bufio.Reader
	line string
	over bool
}

func (c *copyLines) Read(p []byte) (int, error) {
	for c.line == "" {
		if c.over {
			return 0, io.EOF
		}
		var err error
		if c.line, err = c.from.ReadString('\n'); err != nil && err != io.EOF {
			return 0, err
		}
		if end := strings.TrimRight(c.line, "\r\n") == `\.`; end || err != nil {
			c.over = true
			if end {
				c.line = ""
			}
		}
	}
	n := copy(p, c.line)
	c.line = c.line[n:]
	return n, nil
}

// drain skips the remaining lines after an error, so that rows are not run as
// statements.
func (c *copyLines) drain() error {
	_, err := io.Copy(io.Discard, c)
	return err
}

func (s *session) show(r *pgconn.ResultReader) {
	var out result
	for _, f := range r.FieldDescriptions() {
		out.head, out.right = append(out.head, f.Name), append(out.right, numeric(f.DataTypeOID))
	}
	for r.NextRow() {
		var row []string
		for _, v := range r.Values() {
			row = append(row, string(v))
		}
		out.rows = append(out.rows, row)
	}
	tag, err := r.Close()
	if err != nil {
		return // the end of the exchange reports it
	}
	switch {
	case r.FieldDescriptions() == nil:
		if t := tag.String(); t != "" && !s.quiet {
			fmt.Fprintln(s.io.Out, t)
		}
	case s.expanded:
		out.expanded(s.io.Out)
	default:
		out.table(s.io.Out)
	}
}

func numeric(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.OIDOID, pgtype.XIDOID, pgtype.CIDOID:
		return true
	}
	return false
}

// errUsage ends a \command that was not understood.
var errUsage = errors.New("try \\? for help")
