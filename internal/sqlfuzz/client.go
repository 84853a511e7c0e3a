package sqlfuzz

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	statementTimeout = "10s"
	// answerTimeout is when a server that says nothing counts as lost: it should
	// have ended the statement itself long before.
	answerTimeout = time.Minute
)

// answer is what a server said to one statement.
type answer struct {
	tag   string
	names []string
	types []uint32
	rows  [][]cell
	code  string // SQLSTATE of an error
	text  string // of an error
	lost  bool   // the connection broke
}

type cell struct {
	text string
	null bool
}

func (a *answer) failed() bool { return a.code != "" || a.lost }

// server is one address and the connection to it.
type server struct {
	dsn  string
	conn *pgconn.PgConn
	set  []string // run on every new connection
	sent int
}

func dial(ctx context.Context, dsn string) (*server, error) {
	s := &server{dsn: dsn, set: []string{
		"SET TimeZone = 'UTC'", "SET DateStyle = 'ISO, MDY'", "SET client_min_messages = error",
		"SET statement_timeout = '" + statementTimeout + "'", "SET search_path = sqlfuzz",
	}}
	return s, s.reconnect(ctx)
}

func (s *server) reconnect(ctx context.Context) error {
	s.close()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := pgconn.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	s.conn = conn
	for _, q := range s.set {
		if _, err := conn.Exec(ctx, q).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) close() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.conn.Close(ctx) // a connection that is lost cannot be closed better
		s.conn = nil
	}
}

// run sends one statement. After a lost connection the next one connects again.
func (s *server) run(ctx context.Context, sql string) (*answer, error) {
	if s.conn == nil || s.conn.IsClosed() {
		if err := s.reconnect(ctx); err != nil {
			return nil, err
		}
	}
	s.sent++
	within, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	results, err := s.conn.Exec(within, sql).ReadAll()
	a := &answer{}
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr):
		a.code, a.text, a.lost = pgErr.Code, pgErr.Message, pgErr.Severity == "FATAL"
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		a.text, a.lost = err.Error(), true
	}
	for _, r := range results {
		if a.failed() {
			break
		}
		a.tag = r.CommandTag.String()
		for _, f := range r.FieldDescriptions {
			a.names, a.types = append(a.names, f.Name), append(a.types, f.DataTypeOID)
		}
		for _, row := range r.Rows {
			cells := make([]cell, len(row))
			for i, v := range row {
				cells[i] = cell{string(v), v == nil}
			}
			a.rows = append(a.rows, cells)
		}
	}
	return a, nil
}

// brief is an answer as a line or a few.
func (a *answer) brief() string {
	if a.failed() {
		return strings.TrimSpace("ERROR " + a.code + " " + a.text)
	}
	var b strings.Builder
	b.WriteString(a.tag)
	for i, row := range a.rows {
		if i == 8 {
			b.WriteString("\n  …")
			break
		}
		b.WriteString("\n  ")
		b.WriteString(rowText(row))
	}
	return b.String()
}

func rowText(row []cell) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString(" | ")
		}
		if c.null {
			b.WriteString("NULL")
		} else {
			b.WriteString(strings.ReplaceAll(c.text, "\n", `\n`))
		}
	}
	return b.String()
}
