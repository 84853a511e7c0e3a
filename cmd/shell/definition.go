package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// definition returns the statement that makes a function or a view.
func (s *session) definition(ctx context.Context, kind, name string) (string, error) {
	sql := `SELECT 'CREATE OR REPLACE VIEW ' || quote_ident(n.nspname) || '.' || quote_ident(c.relname) || E' AS\n' || pg_catalog.pg_get_viewdef(c.oid, true)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ` + literal(name) + "::regclass"
	if kind == "function" {
		as := "regproc"
		if strings.Contains(name, "(") {
			as = "regprocedure"
		}
		sql = "SELECT pg_catalog.pg_get_functiondef(" + literal(name) + "::" + as + "::oid)"
	}
	_, rows, err := s.query(ctx, sql)
	s.sql = "" // its place is nothing to the person
	if err != nil {
		return "", err
	}
	if len(rows) == 0 || rows[0][0] == nil || strings.TrimSpace(*rows[0][0]) == "" {
		return "", fmt.Errorf("%s %q has no definition in SQL", kind, name)
	}
	return strings.TrimRight(*rows[0][0], "; \n"), nil
}

// showDefinition is \sf and \sv, with + the lines are numbered.
func showDefinition(kind string, numbered bool) func(*session, context.Context, *splitter, *arguments) error {
	return func(s *session, ctx context.Context, _ *splitter, a *arguments) error {
		name := a.line()
		if name == "" {
			return fmt.Errorf("%s name is required", kind)
		}
		text, err := s.definition(ctx, kind, name)
		if err != nil {
			return err
		}
		to := s.output()
		n := 0
		for _, l := range strings.Split(text, "\n") {
			if numbered && (n > 0 || kind == "view" || strings.HasPrefix(l, "AS ")) { // a function's lines are those of its body
				n++
				l = fmt.Sprintf("%-7d %s", n, l)
			} else if numbered {
				l = pad(8) + l
			}
			fmt.Fprintln(to, l)
		}
		return s.closeSink(to)
	}
}

// editDefinition is \ef and \ev: what the editor leaves is the statement that is being typed.
func editDefinition(kind, empty string) func(*session, context.Context, *splitter, *arguments) error {
	return func(s *session, ctx context.Context, sp *splitter, a *arguments) error {
		text := empty
		if name := a.line(); name != "" {
			var err error
			if text, err = s.definition(ctx, kind, name); err != nil {
				return err
			}
			text += "\n"
		}
		dir, err := os.MkdirTemp("", "tributary-edit-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, kind+".sql")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if err := s.openEditor(path); err != nil {
			return err
		}
		edited, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(edited) == text {
			return errors.New("nothing was changed")
		}
		return s.enter(ctx, sp, string(edited))
	}
}
