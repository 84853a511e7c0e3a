package session

import (
	"context"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/parse"
)

// Script splits a query string into its statements, all of which parse.
func (s *Session) Script(ctx context.Context, sql string) ([]*parse.Statement, error) {
	err := s.chargeText(sql)
	var stmts []*parse.Statement
	if err == nil {
		stmts, err = s.parse(ctx, sql)
	}
	s.several = len(stmts) > 1
	if err != nil {
		s.freeText()
		s.fail()
		return nil, err
	}
	return stmts, nil
}

// longText is a text that takes so long to parse that somebody may want to see it or to end it.
const longText = 256 << 10

// parse parses a text. The grammar cannot be stopped within a statement, so the session does not wait for
// it where it is told to end: the grammar goes on alone, and what it takes stays charged until it is done.
func (s *Session) parse(ctx context.Context, sql string) ([]*parse.Statement, error) {
	dialect := query.Dialect(s.set)
	if len(sql) < longText {
		return parse.Parse(sql, dialect)
	}
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer w.end()
	defer s.shown(sql, nil)()
	var stmts []*parse.Statement
	done := make(chan struct{})
	go func() {
		defer close(done)
		stmts, err = parse.ParseUntil(sql, dialect, query.Poll(ctx))
	}()
	select {
	case <-done:
		return stmts, query.Cause(ctx, err)
	case <-ctx.Done():
		if text := s.text; text != nil {
			s.text = nil
			go func() {
				<-done
				text.Close()
			}()
		}
		return nil, query.Cause(ctx, ctx.Err())
	}
}

// smallText is what the trees of a text take that is not worth charging.
const smallText = 1 << 20

// chargeText charges what a text's trees will take, until a statement of the session
// ends or the next text comes.
func (s *Session) chargeText(sql string) error {
	n := parse.EstimateMemory(sql)
	if n < smallText {
		n = 0
	}
	if n == 0 && s.text == nil {
		return nil
	}
	if s.text == nil {
		s.text = s.registry.cfg.Pool.Account("statement text", false)
	}
	return s.text.Resize(n)
}

// freeText gives back what chargeText charged.
func (s *Session) freeText() {
	if s.text != nil {
		s.text.Close()
		s.text = nil
	}
}
