package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// statement returns what has been typed, else the last statement.
func (s *session) statement(sp *splitter) (string, error) {
	if sql := s.interpolate(sp.text()); sql != "" {
		s.last = sql
	}
	if s.last == "" {
		return "", errors.New("no statement was typed yet")
	}
	return s.last, nil
}

func (s *session) closeSink(to *sink) error {
	if to == s.out || to == s.once {
		return nil
	}
	return to.close()
}

func goCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	target := a.line()
	sql, err := s.statement(sp)
	if err != nil {
		return err
	}
	if options, ok := strings.CutPrefix(target, "("); ok { // \g (format=csv null=x) FILE
		list, rest, found := strings.Cut(options, ")")
		if !found {
			return errors.New(`\g: missing right parenthesis`)
		}
		kept := s.format
		defer func() { s.format = kept }()
		for _, o := range strings.Fields(list) {
			name, value, given := strings.Cut(o, "=")
			if err := s.format.set(name, value, given); err != nil {
				return err
			}
		}
		target = strings.TrimSpace(rest)
	}
	if target != "" {
		if s.once, err = s.openSink(s.unquote(target)); err != nil {
			s.once = nil
			return err
		}
		defer func() { s.once = nil }()
	}
	s.run(ctx, sql)
	if s.once != nil {
		return s.once.close()
	}
	return nil
}

func goExpandedCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	kept := s.format.expanded
	defer func() { s.format.expanded = kept }()
	s.format.expanded = "on"
	return goCommand(s, ctx, sp, a)
}

// query runs a statement of the shell's own and returns its rows; nil is NULL.
func (s *session) query(ctx context.Context, sql string) (heads []string, rows [][]*string, err error) {
	s.sql = sql
	err = s.interruptible(ctx, func() error {
		res := s.conn.PgConn().Exec(ctx, sql)
		for res.NextResult() {
			r := res.ResultReader()
			heads, rows = nil, nil
			for _, f := range r.FieldDescriptions() {
				heads = append(heads, f.Name)
			}
			for r.NextRow() {
				row := make([]*string, len(heads))
				for i, v := range r.Values() {
					if v != nil {
						text := string(v)
						row[i] = &text
					}
				}
				rows = append(rows, row)
			}
		}
		return res.Close()
	})
	return heads, rows, err
}

func gsetCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	prefix := word(a, "")
	sql, err := s.statement(sp)
	if err != nil {
		return err
	}
	heads, rows, err := s.query(ctx, sql)
	s.rows = int64(len(rows))
	s.record(err)
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		return errors.New(`no rows returned for \gset`)
	case len(rows) > 1:
		return errors.New(`more than one row returned for \gset`)
	}
	for i, h := range heads {
		if delete(s.vars, prefix+h); rows[0][i] != nil {
			s.vars[prefix+h] = *rows[0][i]
		}
	}
	return nil
}

// describeResult is \gdesc: the columns of a statement's result with their types.
func describeResult(s *session, ctx context.Context, sp *splitter, _ *arguments) error {
	sql, err := s.statement(sp)
	if err != nil {
		return err
	}
	s.sql = sql
	prepared, err := s.conn.PgConn().Prepare(ctx, "", sql, nil)
	if err != nil {
		return err
	}
	if len(prepared.Fields) == 0 {
		fmt.Fprintln(s.io.Out, "The command has no result, or the result has no columns.")
		return nil
	}
	var types []string
	for i, f := range prepared.Fields {
		types = append(types, fmt.Sprintf("(%d, %s, pg_catalog.format_type(%d, %d))", i, literal(f.Name), f.DataTypeOID, f.TypeModifier))
	}
	heads, rows, err := s.query(ctx, `SELECT name AS "Column", type AS "Type" FROM (VALUES `+strings.Join(types, ", ")+`) AS c(n, name, type) ORDER BY n`)
	if err != nil {
		return err
	}
	return s.print("", heads, rows, nil)
}

func gexecCommand(s *session, ctx context.Context, sp *splitter, _ *arguments) error {
	sql, err := s.statement(sp)
	if err != nil {
		return err
	}
	_, rows, err := s.query(ctx, sql)
	if err != nil {
		return err
	}
	for _, v := range slices.Concat(rows...) {
		if v != nil && s.goesOn() {
			s.run(ctx, *v)
		}
	}
	return nil
}

func watchCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	every, times := 2*time.Second, 0
	for _, w := range a.all() {
		w = strings.TrimPrefix(strings.TrimPrefix(w, "interval="), "i=")
		if n, ok := strings.CutPrefix(strings.TrimPrefix(w, "count="), "c="); ok || strings.HasPrefix(w, "count=") {
			v, err := strconv.Atoi(n)
			if err != nil || v < 1 {
				return fmt.Errorf(`\watch: %q is no count`, n)
			}
			times = v
			continue
		}
		v, err := strconv.ParseFloat(w, 64)
		if err != nil || v < 0 || v > 1e6 {
			return fmt.Errorf(`\watch: incorrect interval value %q`, w)
		}
		every = time.Duration(v * float64(time.Second))
	}
	sql, err := s.statement(sp)
	if err != nil {
		return err
	}
	kept := s.format
	defer func() { s.format = kept }()
	s.format.pager = "off"
	for i := 1; ; i++ {
		s.format.title = fmt.Sprintf("%s (every %gs)", time.Now().Format(time.ANSIC), every.Seconds())
		if s.run(ctx, sql) != nil || i == times {
			return nil
		}
		select {
		case <-time.After(every):
		case <-s.io.Interrupts:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func printCommand(s *session, _ context.Context, sp *splitter, _ *arguments) error {
	switch text := strings.TrimSpace(sp.buf.String()); {
	case text != "":
		fmt.Fprintln(s.io.Out, text)
	case s.last != "":
		fmt.Fprintln(s.io.Out, s.last)
	default:
		fmt.Fprintln(s.io.Out, "Query buffer is empty.")
	}
	return nil
}

func writeCommand(s *session, _ context.Context, sp *splitter, a *arguments) error {
	path, ok := a.next()
	if !ok {
		return errors.New(`\w needs a file name`)
	}
	return os.WriteFile(home(path), []byte(first(strings.TrimSpace(sp.buf.String()), s.last)+";\n"), 0o644)
}

func editCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	path, given := a.next()
	if !given {
		dir, err := os.MkdirTemp("", "tributary-edit-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "statement.sql")
		if text := first(strings.TrimSpace(sp.buf.String()), s.last); text != "" {
			if err := os.WriteFile(path, []byte(text+";\n"), 0o600); err != nil {
				return err
			}
		}
	}
	before, _ := os.ReadFile(path) // none yet is as good as an empty one
	if err := s.openEditor(path); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !given && string(text) == string(before) {
		*sp = splitter{}
		return nil
	}
	return s.enter(ctx, sp, string(text))
}

func (s *session) openEditor(path string) error {
	editor := first(os.Getenv("PSQL_EDITOR"), os.Getenv("EDITOR"), os.Getenv("VISUAL"), "vi")
	if err := s.shellOut(editor + " '" + strings.ReplaceAll(path, "'", `'\''`) + "'"); err != nil {
		return fmt.Errorf("could not edit: %w", err)
	}
	return nil
}

// enter takes a text as if it were typed, in place of what was.
func (s *session) enter(ctx context.Context, sp *splitter, text string) error {
	*sp = splitter{}
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(s.io.Out, l)
		s.feed(ctx, sp, l)
	}
	return nil
}

// copyCommand is \copy: COPY whose file is on this machine.
func copyCommand(s *session, ctx context.Context, _ *splitter, a *arguments) error {
	text := strings.TrimRight(a.line(), "; ")
	way, target, program, sql, err := parseCopy(text)
	if err != nil {
		return err
	}
	switch {
	case program:
		target = "|" + target
	case target == "stdin" || target == "stdout" || target == "pstdin" || target == "pstdout":
		target = ""
	}
	if way == "to" {
		if target != "" {
			if s.once, err = s.openSink(target); err != nil {
				s.once = nil
				return err
			}
			defer func() { s.once = nil }()
		}
		if s.run(ctx, sql) == nil && target != "" {
			s.tag(fmt.Sprintf("COPY %d", s.rows))
		}
		if s.once != nil {
			return s.once.close()
		}
		return nil
	}
	if target == "" {
		s.run(ctx, sql)
		return nil
	}
	from, done, err := openSource(target)
	if err != nil {
		return err
	}
	s.sql = sql
	err = s.interruptible(ctx, func() error {
		tag, err := s.conn.PgConn().CopyFrom(ctx, from, sql)
		if err == nil {
			s.rows = tag.RowsAffected()
			s.tag(tag.String())
		}
		return err
	})
	return errors.Join(err, done())
}

// parseCopy takes a \copy apart: its direction, the file or the command, and the COPY that is sent.
func parseCopy(text string) (way, target string, program bool, sql string, err error) {
	var sp splitter
	full := text + "\n"
	for i := 0; i < len(text); {
		start, level, outside := i, sp.parens, !sp.quoted()
		i += sp.token(full[i:])
		w := strings.ToLower(full[start:min(i, len(text))])
		if level > 0 || !outside || w != "from" && w != "to" {
			continue
		}
		rest := strings.TrimSpace(text[i:])
		if strings.HasPrefix(strings.ToLower(rest), "program") {
			program, rest = true, strings.TrimSpace(rest[len("program"):])
		}
		options := ""
		if strings.HasPrefix(rest, "'") {
			var n int
			target, n = quotedWord(rest)
			options = rest[n:]
		} else {
			target, options, _ = strings.Cut(rest, " ")
		}
		if target == "" {
			break
		}
		if low := strings.ToLower(target); low == "stdin" || low == "stdout" || low == "pstdin" || low == "pstdout" {
			target = low
		}
		standard := map[string]string{"from": "stdin", "to": "stdout"}[w]
		return w, target, program, "COPY " + strings.TrimSpace(text[:start]) + " " + w + " " + standard + " " + strings.TrimSpace(options), nil
	}
	return "", "", false, "", errors.New(`\copy: arguments required, as \copy TABLE from 'FILE' (format csv)`)
}
