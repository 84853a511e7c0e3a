package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// outcome is what a client knows of the result of its operation.
type outcome int

const (
	acked outcome = iota
	refused
	unknown
)

// opTimeout is how long a client waits for an answer.
const opTimeout = 5 * time.Second

// tally counts clients' outcomes.
type tally struct {
	mu    sync.Mutex
	count map[string]*[3]int // by workload
	codes map[string]int
}

func (t *tally) add(workload string, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count[workload] == nil {
		t.count[workload] = new([3]int)
	}
	t.count[workload][o]++
}

func (t *tally) code(code string) {
	t.mu.Lock()
	t.codes[code]++
	t.mu.Unlock()
}

// session is a client that moves from gateway to gateway, and reconnects when needed.
type session struct {
	c     *cluster
	t     *tally
	name  string // of its workload
	r     *rand.Rand
	fixed int // the only gateway; negative: any
	conn  *pgx.Conn
	left  int // operations before it moves on
	// limit is how long it waits for an answer.
	limit time.Duration
	// damage says that an error about a damaged file is allowed.
	damage bool
}

var modes = []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeDescribeExec}

// connect returns the session's connection, a new one where it needs one.
func (s *session) connect(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && (s.conn.IsClosed() || s.left <= 0 && s.fixed < 0) {
		s.drop()
	}
	s.left--
	if s.conn != nil {
		return s.conn, nil
	}
	at := s.fixed
	if at < 0 {
		at = s.r.IntN(len(s.c.nodes))
	}
	conn, err := s.c.dial(ctx, at, "nemesis_"+s.name, modes[s.r.IntN(len(modes))])
	if err != nil {
		return nil, err
	}
	s.conn, s.left = conn, 5+s.r.IntN(40)
	return conn, nil
}

// drop ends the connection.
func (s *session) drop() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = s.conn.Close(ctx)
		cancel()
		s.conn = nil
	}
}

// judge returns the outcome of an operation that ended with an error. committing says
// that the statement would have committed.
func (s *session) judge(err error, committing bool) outcome {
	if err == nil {
		return acked
	}
	s.c.note("%s: committing %v: %v", s.name, committing, err)
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		s.drop()
		s.t.code("lost")
		// pgconn.SafeToRetry cannot be used: it also returns true for a connection that was
		// lost while waiting for an answer.
		if committing {
			return unknown
		}
		return refused
	}
	s.t.code(pe.Code)
	if s.broken(pe) {
		s.c.report("%s: %s: %s %s", s.name, pe.Code, pe.Message, pe.Detail)
	}
	if pe.Severity == "FATAL" {
		s.drop()
	}
	if committing && (pe.Code == "40003" || strings.HasPrefix(pe.Code, "08") || pe.Severity == "FATAL") {
		return unknown
	}
	return refused
}

// broken reports whether an error is one that no client may get: an internal one, or damage that nobody
// has done.
func (s *session) broken(pe *pgconn.PgError) bool {
	return strings.HasPrefix(pe.Code, "XX") && !(pe.Code == "XX001" && (s.damage || s.c.flipped.Load()))
}

// exec runs a statement as its own transaction.
func (s *session) exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, outcome) {
	conn, err := s.connect(ctx)
	if err != nil {
		return pgconn.CommandTag{}, s.lost(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	tag, err := conn.Exec(ctx, sql, args...)
	o := s.judge(err, true)
	s.t.add(s.name, o)
	return tag, o
}

// tx runs a transaction: begin, what f does, COMMIT.
func (s *session) tx(ctx context.Context, begin string, f func(ctx context.Context, conn *pgx.Conn) error) outcome {
	conn, err := s.connect(ctx)
	if err != nil {
		return s.lost(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	o := refused
	if _, err = conn.Exec(ctx, begin); err == nil {
		err = f(ctx, conn)
	}
	if err != nil {
		s.judge(err, false)
		if s.conn != nil && ctx.Err() == nil {
			if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
				s.drop()
			}
		} else {
			s.drop()
		}
	} else {
		tag, err := conn.Exec(ctx, "COMMIT")
		if o = s.judge(err, true); o == acked && tag.String() != "COMMIT" {
			s.c.report("%s: COMMIT said %s after no error", s.name, tag)
		}
	}
	s.t.add(s.name, o)
	return o
}

// lost waits a moment after a failure to connect.
func (s *session) lost(ctx context.Context) outcome {
	s.t.code("down")
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
	return refused
}

// read runs a query and returns its rows; a refused one is retried, until it is clear
// that it will not be answered.
func (s *session) read(ctx context.Context, sql string, args ...any) (out [][]any, err error) {
	for {
		out, err = s.try(ctx, sql, args...)
		var pe *pgconn.PgError
		if err == nil || ctx.Err() != nil || errors.As(err, &pe) && s.broken(pe) {
			return out, err
		}
		s.judge(err, false)
		s.lost(ctx)
	}
}

// try runs a query once.
func (s *session) try(ctx context.Context, sql string, args ...any) ([][]any, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
}

// number is an integer of a row, whatever its width; -1 is NULL.
func number(v any) int64 {
	switch v := v.(type) {
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case int64:
		return v
	}
	return -1
}
