package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	statementTimeout = "10s"
	// answerTimeout is when a silent server counts as lost: it should have ended the
	// statement itself long before.
	answerTimeout = time.Minute
)

// request is one statement as it is sent: by the simple protocol, or by the
// extended one.
type request struct {
	sql      string
	extended bool
	params   []param
	binary   bool // parameters, for types with a binary form, and results
}

// param is a parameter of a statement: a value's text and its type.
type param struct {
	text string
	null bool
	oid  uint32
}

// answer is a server's response to one statement.
type answer struct {
	tag   string
	names []string
	types []uint32
	rows  [][]cell
	code  string // SQLSTATE of an error
	text  string // of an error
	lost  bool   // the connection broke
	block byte   // whether a transaction is open after it, as ReadyForQuery says
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
	wire *pgtype.Map
}

func dial(ctx context.Context, dsn, schema string) (*server, error) {
	s := &server{dsn: dsn, wire: pgtype.NewMap(), set: []string{
		"SET TimeZone = 'UTC'", "SET DateStyle = 'ISO, MDY'", "SET client_min_messages = error",
		"SET statement_timeout = '" + statementTimeout + "'", "SET search_path = " + schema,
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
		_ = s.conn.Close(ctx) // the error of a lost connection is of no use
		s.conn = nil
	}
}

// run sends statements, all at once, and returns an answer to each. One that lost the
// connection has lost set, and the statements after it are sent on a new one; where
// none can be made the answers end there, with an error.
func (s *server) run(ctx context.Context, list ...request) ([]*answer, error) {
	var answers []*answer
	for len(answers) < len(list) {
		if s.conn == nil || s.conn.IsClosed() {
			if err := s.reconnect(ctx); err != nil {
				return answers, err
			}
		}
		some, err := s.pipeline(ctx, list[len(answers):])
		answers = append(answers, some...)
		if ctx.Err() != nil {
			return answers, ctx.Err()
		}
		if err != nil {
			s.close()
		}
	}
	return answers, nil
}

// pipeline sends statements and reads answers until the connection is lost.
func (s *server) pipeline(ctx context.Context, list []request) ([]*answer, error) {
	front, link := s.conn.Frontend(), s.conn.Conn()
	stop := context.AfterFunc(ctx, func() { _ = link.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	sent := make(chan error, 1)
	_ = link.SetDeadline(time.Now().Add(answerTimeout))
	for _, r := range list {
		s.send(front, r)
	}
	// Write while answers are read; otherwise both sides could block on each other.
	go func() { sent <- front.Flush() }()
	answers, err := read(front, link, len(list))
	for i, a := range answers {
		if list[i].binary {
			a.readFloats()
		}
	}
	if err != nil {
		_ = link.SetDeadline(time.Unix(1, 0)) // ends the writing
	}
	if sending := <-sent; err == nil {
		err = sending
	}
	return answers, err
}

func (s *server) send(front *pgproto3.Frontend, r request) {
	if !r.extended {
		front.SendQuery(&pgproto3.Query{String: r.sql})
		return
	}
	bind := &pgproto3.Bind{}
	var oids []uint32
	for _, p := range r.params {
		value, format := []byte(p.text), int16(pgtype.TextFormatCode)
		if p.null {
			value = nil
		} else if t, ok := s.wire.TypeForOID(p.oid); ok && r.binary {
			if v, err := t.Codec.DecodeValue(s.wire, p.oid, pgtype.TextFormatCode, value); err == nil {
				if b, err := s.wire.Encode(p.oid, pgtype.BinaryFormatCode, v, nil); err == nil && b != nil {
					value, format = b, pgtype.BinaryFormatCode
				}
			}
		}
		oids = append(oids, p.oid)
		bind.Parameters, bind.ParameterFormatCodes = append(bind.Parameters, value), append(bind.ParameterFormatCodes, format)
	}
	if r.binary {
		bind.ResultFormatCodes = []int16{pgtype.BinaryFormatCode}
	}
	front.SendParse(&pgproto3.Parse{Query: r.sql, ParameterOIDs: oids})
	front.SendBind(bind)
	front.SendDescribe(&pgproto3.Describe{ObjectType: 'P'})
	front.SendExecute(&pgproto3.Execute{})
	front.SendSync(&pgproto3.Sync{})
}

// read reads the answers to n statements. When the connection is lost the last
// answer is of the statement that it was lost in.
func read(front *pgproto3.Frontend, link net.Conn, n int) ([]*answer, error) {
	answers := make([]*answer, 0, n)
	for len(answers) < n {
		a := &answer{}
		_ = link.SetReadDeadline(time.Now().Add(answerTimeout))
		for done := false; !done; {
			message, err := front.Receive()
			if err != nil {
				if !a.lost {
					a.text, a.lost = err.Error(), true
				}
				return append(answers, a), err
			}
			switch m := message.(type) {
			case *pgproto3.RowDescription:
				for _, f := range m.Fields {
					a.names, a.types = append(a.names, string(f.Name)), append(a.types, f.DataTypeOID)
				}
			case *pgproto3.DataRow:
				cells := make([]cell, len(m.Values))
				for i, v := range m.Values {
					cells[i] = cell{string(v), v == nil}
				}
				a.rows = append(a.rows, cells)
			case *pgproto3.CommandComplete:
				a.tag = strings.TrimPrefix(a.tag+"; "+string(m.CommandTag), "; ") // a text may have several
			case *pgproto3.ErrorResponse:
				a.code, a.text, a.lost = m.Code, m.Message, m.Severity == "FATAL" || m.Severity == "PANIC"
			case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse, *pgproto3.CopyBothResponse:
				return append(answers, a), errors.New("a statement copies")
			case *pgproto3.ReadyForQuery:
				a.block, done = m.TxStatus, true
			}
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// readFloats converts binary floats to text; they are compared by their digits.
func (a *answer) readFloats() {
	for _, row := range a.rows {
		for i, c := range row {
			switch {
			case a.types[i] == oidFloat4 && len(c.text) == 4:
				f := math.Float32frombits(binary.BigEndian.Uint32([]byte(c.text)))
				row[i].text = strconv.FormatFloat(float64(f), 'g', -1, 32)
			case a.types[i] == oidFloat8 && len(c.text) == 8:
				f := math.Float64frombits(binary.BigEndian.Uint64([]byte(c.text)))
				row[i].text = strconv.FormatFloat(f, 'g', -1, 64)
			}
		}
	}
}

// one runs a single statement of the fuzzer's own.
func (s *server) one(ctx context.Context, sql string) (*answer, error) {
	list, err := s.run(ctx, request{sql: sql})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// brief returns an answer as one line or a few.
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
		switch {
		case c.null:
			b.WriteString("NULL")
		case strings.ContainsFunc(c.text, func(r rune) bool { return r < ' ' || r == '\uFFFD' }):
			fmt.Fprintf(&b, "%q", c.text)
		default:
			b.WriteString(c.text)
		}
	}
	return b.String()
}
