// Package shell is an interactive SQL shell over the Postgres protocol, for
// machines without psql. It speaks as psql does where it can.
package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Exit codes are psql's: an error of the shell's own or in the last -c, a connection that was lost or never
// made, and an error that ended a script.
const (
	exitError      = 1
	exitConnection = 2
	exitScript     = 3
)

// Exit is an error that names the code the process should end with. What went
// wrong has been printed.
type Exit struct{ Code int }

func (e Exit) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// session is a shell with its connection.
type session struct {
	io        IO
	opts      *options
	conf      *pgx.ConnConfig
	conn      *pgx.Conn
	format    format
	vars      map[string]string
	out       *sink // \o
	once      *sink // \g FILE
	timing    bool
	stop      bool // --stop
	quiet     bool
	echo      string // all or queries
	terminal  bool   // a person types, and sees the results
	lost      bool
	failed    bool
	quit      bool
	canceled  atomic.Bool // by Ctrl-C, of what runs
	left      bool        // the pager was, before the last row, and the statement canceled for that
	sql       string      // the text that runs, for positions in notices
	last      string      // the last statement, which \g runs again
	failure   error       // the last error, for \errverbose
	failedSQL string
	catalog   *catalog // for completion; nil until it is asked for
	rows      int64
	in        *source
	live      *live // of the statement that runs
	kept      *kept // the last result
	silent    bool  // it is kept alone, not printed
	branches  []branch
	skipped   splitter      // what is read in a branch that does not run
	answers   *bufio.Reader // of \prompt
}

// source is where statements and rows of COPY are read from.
type source struct {
	lines  func(prompt string) (string, error) // with its end of line, where there is one
	data   func(prompt string) (string, error) // a line that is no statement, where an editor reads those
	name   string                              // of a file
	number int
}

func fromReader(r io.Reader, name string) *source {
	b := bufio.NewReader(r)
	return &source{lines: func(string) (string, error) { return b.ReadString('\n') }, name: name}
}

func (in *source) next(prompt string) (string, error) {
	in.number++
	return in.lines(prompt)
}

// row is next for rows of COPY and answers.
func (in *source) row(prompt string) (string, error) {
	if in.data == nil {
		return in.next(prompt)
	}
	in.number++
	return in.data(prompt)
}

// Main runs the command `sql`. It returns nil, flag.ErrHelp, an Exit, or an error that has
// not been printed.
func Main(ctx context.Context, args []string, std IO, start StartEngine) error {
	return run(ctx, args, std, start, false)
}

// Query runs the command `query`, which takes statements as arguments.
func Query(ctx context.Context, args []string, std IO, start StartEngine) error {
	return run(ctx, args, std, start, true)
}

func run(ctx context.Context, args []string, std IO, start StartEngine, query bool) (err error) {
	s := &session{io: std, format: newFormat(), vars: map[string]string{}}
	if s.opts, err = s.parse(args, query); err != nil {
		return err
	}
	o := s.opts
	for _, v := range o.sets {
		name, value, _ := strings.Cut(v, "=")
		s.vars[name] = value
	}
	local := o.engine.Data != "" || o.engine.Memory != "" || !o.addressed()
	switch {
	case local && first(o.dsn, o.host, o.port) != "":
		return errors.New("--data and --memory are for an engine in this process: leave out the address")
	case local && start == nil:
		return errors.New("no address is given: -h HOST, a URL, or PGHOST")
	case local:
		dial, stop, err := start(ctx, o.engine)
		if err != nil {
			return err
		}
		o.dial = dial
		defer func() { err = errors.Join(err, stop()) }()
	}
	s.terminal = std.Interactive && len(o.actions) == 0
	if s.conn, s.conf, err = s.connect(ctx, o); err != nil {
		fmt.Fprintln(std.Err, "tributary sql: error:", err)
		return Exit{exitConnection}
	}
	defer func() { _ = s.conn.Close(context.WithoutCancel(ctx)) }()
	if o.out != "" {
		if s.out, err = s.openSink(o.out); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.out.close()) }()
	}
	code := 0
	if s.terminal {
		s.greet(local)
	}
	if !o.noRC && !query {
		s.rc(ctx)
	}
	switch {
	case len(o.actions) > 0:
		for _, a := range o.actions {
			if code = s.act(ctx, a); code != 0 && s.stops() || s.lost || s.quit {
				break
			}
		}
	case query:
		code = s.script(ctx, fromReader(std.In, ""))
	case s.terminal && std.Process && capable():
		code = s.script(ctx, s.editor(ctx))
	default:
		in := fromReader(std.In, "")
		read := in.lines
		in.lines = func(prompt string) (string, error) {
			if s.terminal {
				fmt.Fprint(std.Out, prompt)
			}
			return read(prompt)
		}
		code = s.script(ctx, in)
	}
	if s.lost {
		code = exitConnection
	}
	if code != 0 {
		return Exit{code}
	}
	return nil
}

func (s *session) greet(local bool) {
	if s.quiet {
		return
	}
	if local && s.opts.engine.Data == "" {
		fmt.Fprint(s.io.Out, "An engine in this process, on a temporary directory: what is made here ends with it.\nKeep it with --data DIRECTORY, or connect to a server with -h HOST.\n")
	}
	s.set("null", "NULL")
	fmt.Fprint(s.io.Out, "Type \\? for help, \\q to quit.\n\n")
}

// set gives a printing option a value that it knows.
func (s *session) set(name, value string) { _ = s.format.set(name, value, true) }

// rc runs ~/.tributaryrc, as psql does its own.
func (s *session) rc(ctx context.Context) {
	if !s.io.Process {
		return
	}
	path := first(os.Getenv("TRIBUTARYRC"), home("~/.tributaryrc"))
	if _, err := os.Stat(path); err != nil {
		return
	}
	quiet, failed := s.quiet, s.failed
	s.quiet = true
	s.file(ctx, path)
	s.quiet, s.failed = quiet, failed
}

// home replaces a ~ at the start of a path.
func home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
		if u, err := user.Current(); err == nil {
			return filepath.Join(u.HomeDir, rest)
		}
	}
	return path
}

// stops reports whether an error ends what runs.
func (s *session) stops() bool { return s.stop || s.on("ON_ERROR_STOP") }

func (s *session) goesOn() bool { return !s.lost && !s.quit && !(s.failed && s.stops()) }

// act runs a -c or -f and returns its exit code.
func (s *session) act(ctx context.Context, a action) int {
	s.failed = false
	switch {
	case a.file && a.text == "-":
		return s.script(ctx, fromReader(s.io.In, ""))
	case a.file:
		return s.file(ctx, a.text)
	case strings.HasPrefix(strings.TrimSpace(a.text), `\`):
		var sp splitter
		s.in = fromReader(strings.NewReader(""), "")
		s.feed(ctx, &sp, strings.TrimSpace(a.text))
	default:
		s.in = fromReader(s.io.In, "")
		var sp splitter
		sp.quiet = true
		sp.add(a.text)
		// As psql sends it: one text is one transaction. COPY needs messages of its own.
		if statements := sp.flush(); copies(statements) {
			for _, sql := range statements {
				if s.run(ctx, sql) != nil {
					break
				}
			}
		} else if len(statements) > 0 {
			s.run(ctx, a.text)
		}
	}
	if s.failed {
		return exitError
	}
	return 0
}

func copies(statements []string) bool {
	for _, sql := range statements {
		if copyOf(sql) != "" {
			return true
		}
	}
	return false
}

// file runs a file and returns its exit code.
func (s *session) file(ctx context.Context, path string) int {
	f, err := os.Open(home(path))
	if err != nil {
		s.fail(err, "")
		return exitError
	}
	defer f.Close()
	terminal := s.terminal
	s.terminal = false
	defer func() { s.terminal = terminal }()
	return s.script(ctx, fromReader(f, path))
}

// script reads statements and \commands to the end of the input, and returns the exit code.
func (s *session) script(ctx context.Context, in *source) int {
	var sp splitter
	outer, around, skipped := s.in, s.branches, s.skipped
	s.in, s.branches, s.skipped = in, nil, splitter{}
	defer func() { s.in, s.branches, s.skipped = outer, around, skipped }()
	for s.goesOn() && ctx.Err() == nil {
		line, err := in.next(s.prompt(&sp))
		if errors.Is(err, errInterrupted) {
			sp, s.skipped = splitter{}, splitter{}
			continue
		}
		if line == "" && err != nil {
			break
		}
		line = strings.TrimRight(line, "\r\n")
		if s.echo == "all" && !s.terminal {
			fmt.Fprintln(s.io.Out, line)
		}
		s.feed(ctx, &sp, line)
		if s.terminal {
			s.failed = false
		}
	}
	if len(s.branches) > 0 && s.goesOn() && !s.terminal {
		s.branches = nil
		s.fail(errors.New(`reached EOF without finding closing \endif(s)`), "")
	}
	switch {
	case s.quit && outer != nil && in.name != "":
		s.quit = false // \q ends the file that has it
	case s.terminal:
		return 0 // an incomplete statement is not run
	case s.goesOn():
		s.runAll(ctx, sp.flush())
	}
	if s.failed && s.stops() {
		return exitScript
	}
	return 0
}

// errInterrupted is returned by an editor when Ctrl-C gives up what was typed.
var errInterrupted = errors.New("interrupted")

// feed takes a line of statements and \commands.
func (s *session) feed(ctx context.Context, sp *splitter, line string) {
	if word := strings.ToLower(strings.TrimRight(strings.TrimSpace(line), "; ")); s.active() && (word == "quit" || word == "exit" || word == "help") && (!sp.open() || s.terminal && !sp.quoted()) {
		if word == "help" {
			fmt.Fprint(s.io.Out, help)
		} else {
			s.quit = true
		}
		return
	}
	if s.active() && !sp.open() && dotted(line) {
		s.refuse(line)
		return
	}
	for rest, again := line, true; again && s.goesOn(); {
		var command string
		if !s.active() {
			command, again = s.skipped.add(rest)
			s.skipped.take()
		} else {
			command, again = sp.add(rest)
			s.runAll(ctx, sp.take())
		}
		if again && s.goesOn() {
			rest = s.command(ctx, sp, command)
			again = rest != ""
		}
		if s.terminal && s.failed {
			return // what stands behind the error in the line
		}
	}
}

func (s *session) runAll(ctx context.Context, statements []string) {
	for _, sql := range statements {
		if !s.goesOn() {
			return
		}
		sql = s.interpolate(sql)
		s.last = sql
		s.run(ctx, sql)
	}
}

func (s *session) prompt(sp *splitter) string {
	if !s.terminal {
		return ""
	}
	if !s.active() {
		return s.conf.Database + "@# "
	}
	state := ""
	switch s.conn.PgConn().TxStatus() {
	case 'T':
		state = "*"
	case 'E':
		state = "!"
	}
	return fmt.Sprintf("%s%s%s# ", s.conf.Database, sp.prompt(), state)
}

// fail reports an error. A person's connection that was lost is made again.
func (s *session) fail(err error, sql string) {
	s.failed, s.failure, s.failedSQL = true, err, sql
	fmt.Fprint(s.io.Err, s.where()+failure(err, sql)+advice(err, sql))
	if !s.conn.IsClosed() {
		return
	}
	fmt.Fprintln(s.io.Err, "connection to server was lost")
	if s.terminal {
		if conn, conf, err := s.connect(context.Background(), s.opts); err == nil {
			s.conn, s.conf = conn, conf
			fmt.Fprintln(s.io.Err, "The connection was made again; settings and transactions of the old one are gone.")
			return
		}
	}
	s.lost = true
}

// where is the line of the script that runs.
func (s *session) where() string {
	if s.in == nil || s.in.name == "" {
		return ""
	}
	return fmt.Sprintf("tributary sql:%s:%d: ", s.in.name, s.in.number)
}

func (s *session) notice(_ *pgconn.PgConn, n *pgconn.Notice) {
	s.live.aside(func(training bool) {
		if training && n.Code == "00000" {
			return // progress, which the curves show
		}
		fmt.Fprintf(s.io.Err, "%s%s:  %s\n", s.where(), n.Severity, n.Message)
		if n.Position > 0 {
			fmt.Fprint(s.io.Err, caret(s.sql, int(n.Position)))
		}
		fmt.Fprint(s.io.Err, more(n.Detail, n.Hint))
	})
}

// run sends one text, and reports its error; Ctrl-C asks the server to cancel it.
func (s *session) run(ctx context.Context, sql string) error {
	if s.echo == "queries" {
		fmt.Fprintln(s.io.Out, sql)
	}
	start := time.Now()
	s.live = s.watch(ctx, sql)
	err := s.interruptible(ctx, func() error { return s.exchange(ctx, sql) })
	s.live.end()
	<-s.live.done
	s.live = nil
	if err != nil {
		s.fail(err, sql)
	}
	s.record(err)
	if s.timing {
		fmt.Fprintf(s.io.Out, "Time: %.3f ms\n", float64(time.Since(start).Microseconds())/1000)
	}
	return err
}

// record sets the variables that tell of the last statement, as psql does.
func (s *session) record(err error) {
	state, message, rows := "00000", "", s.rows
	var e *pgconn.PgError
	if errors.As(err, &e) {
		state, message, rows = e.Code, e.Message, 0
	}
	maps.Copy(s.vars, map[string]string{"ERROR": fmt.Sprint(err != nil), "SQLSTATE": state, "ROW_COUNT": fmt.Sprint(rows)})
	if err != nil {
		maps.Copy(s.vars, map[string]string{"LAST_ERROR_SQLSTATE": state, "LAST_ERROR_MESSAGE": message})
	}
}

// interruptible runs f; Ctrl-C asks the server to cancel the statement that it waits for.
func (s *session) interruptible(ctx context.Context, f func() error) error {
	select {
	case <-s.io.Interrupts: // a late interrupt of an earlier statement
	default:
	}
	s.canceled.Store(false)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
		case <-s.io.Interrupts:
			s.canceled.Store(true)
			_ = s.conn.PgConn().CancelRequest(context.WithoutCancel(ctx))
		}
	}()
	err := f()
	close(done)
	<-ended
	return err
}

func (s *session) exchange(ctx context.Context, sql string) error {
	s.sql, s.rows, s.left = sql, 0, false
	switch copyOf(sql) {
	case " to stdout":
		to := s.output()
		tag, err := s.conn.PgConn().CopyTo(ctx, ending{to, s.live}, sql)
		s.rows = tag.RowsAffected()
		if to != s.out && to != s.once {
			err = errors.Join(err, to.close())
		}
		return err
	case " from stdin":
		s.live.end()
		if s.terminal {
			fmt.Fprint(s.io.Out, "Enter data to be copied followed by a newline.\nEnd with a backslash and a period on a line by itself, or an EOF signal.\n")
		}
		return s.copyIn(ctx, &copyLines{from: s.in, canceled: &s.canceled, file: modelFile(strings.Fields(strings.ToLower(sql)))}, sql)
	}
	res := s.conn.PgConn().Exec(ctx, sql)
	var shown error
	for res.NextResult() {
		shown = errors.Join(shown, s.show(ctx, res.ResultReader()))
	}
	err := res.Close()
	var e *pgconn.PgError
	if s.left && errors.As(err, &e) && e.Code == "57014" {
		err = nil
	}
	return errors.Join(err, shown)
}

func (s *session) copyIn(ctx context.Context, rows *copyLines, sql string) error {
	tag, err := s.conn.PgConn().CopyFrom(ctx, rows, sql)
	if err != nil && s.terminal {
		return err // a person sees it, and types no more rows
	}
	if derr := rows.drain(); err == nil {
		err = derr
	}
	if err == nil {
		s.rows = tag.RowsAffected()
		s.tag(tag.String())
	}
	return err
}
