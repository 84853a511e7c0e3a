package logictest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Postgres is a connection to a server that speaks PostgreSQL's protocol.
type Postgres struct{ conn *pgconn.PgConn }

// Dial connects and sets the search path to a schema.
func Dial(ctx context.Context, dsn, schema string) (*Postgres, error) {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, MDY'; SET search_path = "+schema).ReadAll()
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return &Postgres{conn}, nil
}

func (p *Postgres) Close(ctx context.Context) error { return p.conn.Close(ctx) }

// Run sends a statement by the simple protocol.
func (p *Postgres) Run(ctx context.Context, sql string) (Result, error) {
	var res Result
	all := p.conn.Exec(ctx, sql)
	for all.NextResult() { // the last of several results counts
		r := all.ResultReader()
		res = Result{}
		for _, f := range r.FieldDescriptions() {
			res.Types += string(Letter(f.DataTypeOID))
		}
		for r.NextRow() {
			var cells []Cell
			for _, v := range r.Values() {
				cells = append(cells, Cell{string(v), v == nil})
			}
			res.Rows = append(res.Rows, cells)
		}
	}
	err := all.Close()
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return Result{State: failed.Code, Message: failed.Message}, nil
	}
	return res, err
}

// Letter returns the letter of a type, by its OID.
func Letter(oid uint32) byte {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return 'I'
	case pgtype.NumericOID:
		return 'R'
	case pgtype.Float4OID, pgtype.Float8OID:
		return 'F'
	case pgtype.BoolOID:
		return 'B'
	}
	return 'T'
}

// FromPostgres runs records on a PostgreSQL, in a schema that it creates and drops, and
// stores the results in them. It returns an error if a record fails that should not, or
// the other way round, or if a second run returns something else.
func FromPostgres(ctx context.Context, dsn, schema string, records []*Record) error {
	first, err := answers(ctx, dsn, schema, records)
	if err != nil {
		return err
	}
	second, err := answers(ctx, dsn, schema, records)
	if err != nil {
		return err
	}
	for i, r := range records {
		if !r.For("postgresql") {
			continue
		}
		res := first[i]
		if r.Fails != (res.State != "") {
			err = errors.Join(err, fmt.Errorf("line %d: %s %s", r.Line, res.State, res.Message))
			continue
		}
		r.State = res.State
		if r.Kind == Query {
			r.Types, r.Rows = res.Types, res.Lines()
			r.Sorted = r.Sorted || len(r.Rows) > 1 && !ordered(r.SQL)
			if r.Sorted {
				slices.Sort(r.Rows)
			}
			if res.Types == "" {
				err = errors.Join(err, fmt.Errorf("line %d: it gives no rows", r.Line))
			}
		}
		if d := Check(r, second[i]); d != "" {
			err = errors.Join(err, fmt.Errorf("line %d: another answer the second time: %s", r.Line, d))
		}
	}
	return err
}

func answers(ctx context.Context, dsn, schema string, records []*Record) (out []Result, err error) {
	if err := alone(ctx, dsn, "CREATE SCHEMA "+schema); err != nil {
		return nil, err
	}
	var open []*Postgres
	defer func() {
		for _, p := range open {
			err = errors.Join(err, p.Close(ctx))
		}
		err = errors.Join(err, alone(ctx, dsn, "DROP SCHEMA "+schema+" CASCADE"))
	}()
	x := Runner{Engine: "postgresql", Open: func(ctx context.Context, _ string) (Conn, error) {
		p, err := Dial(ctx, dsn, schema)
		if err == nil {
			open = append(open, p)
		}
		return p, err
	}}
	for _, r := range records {
		res, _, err := x.Run(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", r.Line, err)
		}
		out = append(out, res)
	}
	return out, nil
}

// alone runs a statement on a connection of its own.
func alone(ctx context.Context, dsn, sql string) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

var (
	quoted = regexp.MustCompile(`'[^']*'`)
	inner  = regexp.MustCompile(`\([^()]*\)`)
	// follows matches statements that return rows in an order that their text does not
	// show.
	follows = regexp.MustCompile(`(?i)^(fetch|execute|show|explain)\b`)
)

// ordered reports whether a query has an ORDER BY of its own, outside all parentheses.
func ordered(sql string) bool {
	sql = quoted.ReplaceAllString(sql, "''")
	for inner.MatchString(sql) {
		sql = inner.ReplaceAllString(sql, " ")
	}
	return follows.MatchString(sql) || strings.Contains(strings.Join(strings.Fields(strings.ToLower(sql)), " "), "order by")
}
