package shell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// sink is where results are written: the standard output, a file or a command's input.
type sink struct {
	io.Writer
	close func() error
}

// openSink opens what \o, \g and -o name.
func (s *session) openSink(target string) (*sink, error) {
	if command, ok := strings.CutPrefix(target, "|"); ok {
		c := exec.Command("sh", "-c", command)
		c.Stdout, c.Stderr = s.io.Out, s.io.Err
		in, err := c.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		return &sink{in, func() error { _ = in.Close(); return c.Wait() }}, nil
	}
	f, err := os.Create(home(target))
	if err != nil {
		return nil, err
	}
	return &sink{f, f.Close}, nil
}

// output returns where the next result goes.
func (s *session) output() *sink {
	switch {
	case s.once != nil:
		return s.once
	case s.out != nil:
		return s.out
	}
	if s.io.Size != nil && s.terminal && s.format.pager != "off" {
		if columns, lines := s.io.Size(); columns > 0 {
			p := &pager{to: s.io.Out, errs: s.io.Err, columns: columns, lines: lines, always: s.format.pager == "always"}
			return &sink{p, p.close}
		}
	}
	return &sink{s.io.Out, func() error { return nil }}
}

// colored reports whether results may have colours.
func (s *session) colored() bool {
	return s.terminal && s.io.Size != nil && s.once == nil && s.out == nil && capable() && os.Getenv("NO_COLOR") == ""
}

func (s *session) screen() int {
	if s.io.Size == nil || s.once != nil || s.out != nil {
		return 0
	}
	columns, _ := s.io.Size()
	return columns
}

// flushEvery is how long rows that have come may wait to be shown.
const flushEvery = 200 * time.Millisecond

// show prints a result as its rows come.
func (s *session) show(ctx context.Context, r *pgconn.ResultReader) error {
	fields := r.FieldDescriptions()
	if fields == nil {
		tag, err := r.Close()
		if err == nil && tag.String() != "" {
			s.tag(tag.String())
		}
		return nil // the end of the exchange reports an error
	}
	cols := make([]column, len(fields))
	for i, f := range fields {
		cols[i] = column{f.Name, f.DataTypeOID, numeric(f.DataTypeOID)}
	}
	s.kept = &kept{cols: cols, all: true}
	to := s.output()
	if s.silent {
		to = &sink{io.Discard, func() error { return nil }}
	}
	w := bufio.NewWriterSize(to, 1<<16)
	var p printer // made with the first row or the end, so that a statement that fails at once prints no head
	var n int64
	flushed := time.Now()
	for r.NextRow() {
		if p == nil {
			s.live.end()
			p = s.format.printer(w, cols, s.screen())
		}
		s.kept.add(r.Values())
		p.row(r.Values())
		n++
		if now := time.Now(); now.Sub(flushed) > flushEvery {
			flushed = now
			if w.Flush() != nil { // the pager or the pipe was closed
				break
			}
		}
	}
	s.live.end()
	closed := w.Flush()
	if closed != nil && s.idle() { // in a transaction, which an error would end, the rest is read
		s.left = true
		_ = s.conn.PgConn().CancelRequest(context.WithoutCancel(ctx))
	}
	tag, err := r.Close()
	if err == nil {
		if p == nil {
			p = s.format.printer(w, cols, s.screen())
		}
		p.end(n)
	}
	if e := w.Flush(); closed == nil {
		closed = e
	}
	if to != s.out && to != s.once {
		_ = to.close()
	}
	if err == nil && !strings.HasPrefix(tag.String(), "SELECT") && !strings.HasPrefix(tag.String(), "SHOW") && (tag.Insert() || tag.Update() || tag.Delete()) {
		s.tag(tag.String())
	}
	s.rows = n
	if s.terminal {
		return nil // who leaves the pager has seen enough
	}
	return closed
}

// tag prints what a statement did.
func (s *session) tag(tag string) {
	if !s.quiet && !s.silent && !s.machine() {
		s.live.end()
		fmt.Fprintln(s.io.Out, tag)
	}
}

// machine reports whether a program reads the output, which tags of commands would disturb.
func (s *session) machine() bool { return s.format.kind == "json" }

// pager shows what is larger than the terminal through $PSQL_PAGER, $PAGER or less.
type pager struct {
	to, errs       io.Writer
	columns, lines int
	always         bool
	held           []byte
	ends           int // of lines in held
	line           int // where the last of them begins
	in             io.WriteCloser
	cmd            *exec.Cmd
	plain          bool // the pager could not be started
}

func (p *pager) Write(b []byte) (int, error) {
	switch {
	case p.plain:
		return p.to.Write(b)
	case p.in != nil:
		return p.in.Write(b)
	}
	if p.large(b) || p.always {
		if err := p.start(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// large holds more of the output, and reports whether it is larger than the terminal.
func (p *pager) large(b []byte) bool {
	from := len(p.held)
	p.held = append(p.held, b...)
	for i := from; i < len(p.held); i++ {
		if p.held[i] != '\n' {
			continue
		}
		if p.ends++; p.ends >= p.lines || p.wide(i) {
			return true
		}
		p.line = i + 1
	}
	return p.wide(len(p.held))
}

// wide reports whether the line that ends there is wider than the terminal.
func (p *pager) wide(end int) bool {
	return end-p.line > p.columns && width(colors.ReplaceAllString(string(p.held[p.line:end]), "")) > p.columns
}

// colors are sequences that take no room.
var colors = regexp.MustCompile("\x1b(\\[[0-9;]*(m|$)|$)")

func (p *pager) start() error {
	command := first(os.Getenv("PSQL_PAGER"), os.Getenv("PAGER"), "less -SR")
	c := exec.Command("sh", "-c", command)
	c.Stdout, c.Stderr = p.to, p.errs
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.plain = true
		_, err = p.to.Write(p.held)
		return err
	}
	p.cmd, p.in = c, in
	_, err = in.Write(p.held)
	p.held = nil
	return err
}

func (p *pager) close() error {
	if p.in != nil {
		_ = p.in.Close()
		return p.cmd.Wait()
	}
	_, err := p.to.Write(p.held)
	p.held = nil
	return err
}
