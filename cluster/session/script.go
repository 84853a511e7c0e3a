package session

import (
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/parse"
)

// Script splits a query string into its statements, all of which parse.
func (s *Session) Script(sql string) ([]*parse.Statement, error) {
	err := s.chargeText(sql)
	var stmts []*parse.Statement
	if err == nil {
		stmts, err = parse.Parse(sql, query.Dialect(s.set))
	}
	s.several = len(stmts) > 1
	if err != nil {
		s.freeText()
		s.fail()
		return nil, err
	}
	return stmts, nil
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
