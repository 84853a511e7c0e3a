package pg

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

func TestExtended(t *testing.T) {
	c := connect(t, serveFake(t, &fakeEngine{}, nil))
	sync := &pgproto3.Sync{}
	type msgs []pgproto3.FrontendMessage
	for _, tc := range []struct {
		name string
		send msgs
		want []string
	}{
		{"unnamed", msgs{&pgproto3.Parse{Query: "rows 1"}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, sync},
			[]string{"ParseComplete", "BindComplete", "T n:20/0", "D 1", "C SELECT 1", "ZI"}},
		{"named", msgs{&pgproto3.Parse{Name: "s", Query: "rows 2"}, &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync},
			[]string{"ParseComplete", "t []", "T n:20/0", "ZI"}},
		{"again", msgs{&pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{}, &pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{}, sync},
			[]string{"BindComplete", "D 1", "D 2", "C SELECT 2", "BindComplete", "D 1", "D 2", "C SELECT 2", "ZI"}},
		{"taken name", msgs{&pgproto3.Parse{Name: "s", Query: "rows 2"}, sync}, []string{"E ERROR 42P05", "ZI"}},
		{"close", msgs{&pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Close{ObjectType: 'S', Name: "never was"}, sync},
			[]string{"CloseComplete", "CloseComplete", "ZI"}},
		{"closed", msgs{&pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{}, sync}, []string{"E ERROR 26000", "ZI"}},
		{"no portal", msgs{&pgproto3.Execute{Portal: "p"}, sync}, []string{"E ERROR 34000", "ZI"}},
		{"a cursor for a portal", msgs{&pgproto3.Describe{ObjectType: 'P', Name: "declared"}, sync}, []string{"T n:20/0", "ZI"}},
		{"no rows", msgs{&pgproto3.Parse{Query: "notice"}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, sync},
			[]string{"ParseComplete", "t []", "NoData", "BindComplete", "NoData", "N hello", "C NOTICE", "ZI"}},
		{"empty", msgs{&pgproto3.Parse{Query: " ; "}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, sync},
			[]string{"ParseComplete", "BindComplete", "NoData", "EmptyQueryResponse", "ZI"}},
		{"two commands", msgs{&pgproto3.Parse{Query: "rows 1; rows 1"}, sync}, []string{"E ERROR 42601", "ZI"}},
		{"row limits", msgs{&pgproto3.Parse{Query: "rows 5"}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Execute{Portal: "p", MaxRows: 2},
			&pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Execute{Portal: "p"}, sync},
			[]string{"ParseComplete", "BindComplete", "D 1", "D 2", "PortalSuspended", "D 3", "D 4", "PortalSuspended", "D 5", "C SELECT 5", "C SELECT 0", "ZI"}},
		{"portals end with the transaction", msgs{&pgproto3.Execute{Portal: "p"}, sync}, []string{"E ERROR 34000", "ZI"}},
		{"discarded until Sync", msgs{&pgproto3.Parse{Query: "fail"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Parse{Query: "rows 1"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Flush{}, &pgproto3.Query{String: "rows 9"}, sync, &pgproto3.Bind{}, &pgproto3.Execute{}, sync},
			[]string{"ParseComplete", "BindComplete", "E ERROR 23505", "ZI", "BindComplete", "E ERROR 23505", "ZI"}},
		{"result formats", msgs{&pgproto3.Parse{Query: "echo"}, &pgproto3.Describe{ObjectType: 'S'},
			&pgproto3.Bind{Parameters: [][]byte{[]byte("7"), []byte("seven"), nil}, ResultFormatCodes: []int16{0, 1, 1}}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, sync},
			[]string{"ParseComplete", "t [23 25 17]", "T a:23/0 b:25/0 c:17/0", "BindComplete", "T a:23/0 b:25/1 c:17/1", "D 7|seven|NULL", "C SELECT 1", "ZI"}},
		{"binary parameter", msgs{&pgproto3.Bind{ParameterFormatCodes: []int16{1, 0, 1}, Parameters: [][]byte{{0, 0, 1, 0}, nil, {1, 2}}}, &pgproto3.Execute{}, sync},
			[]string{"BindComplete", `D 256|NULL|\x0102`, "C SELECT 1", "ZI"}},
		{"too few parameters", msgs{&pgproto3.Bind{Parameters: [][]byte{nil}}, sync}, []string{"E ERROR 08P01", "ZI"}},
		{"too many formats", msgs{&pgproto3.Bind{ParameterFormatCodes: []int16{0, 0}, Parameters: [][]byte{nil, nil, nil}}, sync}, []string{"E ERROR 08P01", "ZI"}},
		{"result formats", msgs{&pgproto3.Bind{Parameters: [][]byte{nil, nil, nil}, ResultFormatCodes: []int16{0, 0}}, sync}, []string{"E ERROR 08P01", "ZI"}},
		{"format 2", msgs{&pgproto3.Bind{ParameterFormatCodes: []int16{2}, Parameters: [][]byte{{1}, nil, nil}}, sync}, []string{"E ERROR 22023", "ZI"}},
		{"wrong size", msgs{&pgproto3.Bind{ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{1}, nil, nil}}, sync}, []string{"E ERROR 08P01", "ZI"}},
		{"not a number", msgs{&pgproto3.Bind{Parameters: [][]byte{[]byte("x"), nil, nil}}, sync}, []string{"E ERROR 22P02", "ZI"}},
		{"not text", msgs{&pgproto3.Bind{Parameters: [][]byte{nil, []byte("\xc3("), nil}}, sync}, []string{"E ERROR 22021", "ZI"}},
		{"zero in text", msgs{&pgproto3.Bind{Parameters: [][]byte{nil, []byte("a\x00b"), nil}}, sync}, []string{"E ERROR 22021", "ZI"}},
		{"zero in binary text", msgs{&pgproto3.Bind{ParameterFormatCodes: []int16{0, 1, 0}, Parameters: [][]byte{nil, []byte("a\x00b"), nil}}, sync}, []string{"E ERROR 22021", "ZI"}},
		{"statement not text", msgs{&pgproto3.Parse{Query: "rows \xff"}, sync}, []string{"E ERROR 22021", "ZI"}},
		{"explicit transaction", msgs{&pgproto3.Parse{Query: "begin"}, &pgproto3.Bind{}, &pgproto3.Execute{}, sync}, []string{"ParseComplete", "BindComplete", "C BEGIN", "ZT"}},
		{"portal", msgs{&pgproto3.Parse{Query: "rows 2"}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 1}, sync},
			[]string{"ParseComplete", "BindComplete", "D 1", "PortalSuspended", "ZT"}},
		{"taken portal", msgs{&pgproto3.Bind{DestinationPortal: "p"}, sync}, []string{"E ERROR 42P03", "ZE"}},
		{"rest of a portal in a failed transaction", msgs{&pgproto3.Execute{Portal: "p", MaxRows: 1}, sync}, []string{"E ERROR 25P02", "ZE"}},
		{"end", msgs{&pgproto3.Parse{Query: "end"}, &pgproto3.Bind{}, &pgproto3.Execute{}, sync}, []string{"ParseComplete", "BindComplete", "C COMMIT", "ZI"}},
		{"explicit transaction again", msgs{&pgproto3.Query{String: "begin"}}, []string{"C BEGIN", "ZT"}},
		{"portal again", msgs{&pgproto3.Parse{Query: "rows 2"}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 1}, sync},
			[]string{"ParseComplete", "BindComplete", "D 1", "PortalSuspended", "ZT"}},
		{"simple end", msgs{&pgproto3.Query{String: "end"}}, []string{"C COMMIT", "ZI"}},
		{"portals end with a simple end", msgs{&pgproto3.Execute{Portal: "p"}, sync}, []string{"E ERROR 34000", "ZI"}},
		{"function call", msgs{&pgproto3.FunctionCall{Function: 1, ResultFormatCode: 0}}, []string{"E ERROR 0A000", "ZI"}},
		{"copy messages out of a copy", msgs{&pgproto3.CopyData{Data: []byte("x")}, &pgproto3.CopyDone{}, &pgproto3.CopyFail{}, &pgproto3.Query{String: "rows 0"}},
			[]string{"T n:20/0", "C SELECT 0", "ZI"}},
	} {
		c.send(tc.send...)
		for i, w := range tc.want {
			if got := say(c.read()); got != w {
				t.Fatalf("%s: message %d is %q, want %q", tc.name, i, got, w)
			}
		}
	}
}

// TestFlush: Flush makes the server send its answers before a Sync.
func TestFlush(t *testing.T) {
	c := connect(t, serveFake(t, &fakeEngine{}, nil))
	c.send(&pgproto3.Parse{Query: "rows 1"}, &pgproto3.Flush{})
	c.wants("ParseComplete")
	c.send(&pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Flush{})
	c.wants("BindComplete", "D 1", "C SELECT 1")
	c.send(&pgproto3.Sync{})
	c.wants("ZI")
}

// TestParametersAreCopied binds a portal and runs it after other messages have overwritten the buffer
// in which its parameters arrived.
func TestParametersAreCopied(t *testing.T) {
	c := connect(t, serveFake(t, &fakeEngine{}, nil))
	c.send(&pgproto3.Parse{Query: "echo"}, &pgproto3.Bind{Parameters: [][]byte{nil, []byte("kept"), []byte("also")}}, &pgproto3.Flush{})
	c.wants("ParseComplete", "BindComplete")
	for i := range 50 {
		c.send(&pgproto3.Describe{ObjectType: 'S', Name: ""}, &pgproto3.Parse{Name: fmt.Sprint("other", i), Query: "rows 100000000000"}, &pgproto3.Flush{})
		c.wants("t [23 25 17]", "T a:23/0 b:25/0 c:17/0", "ParseComplete")
	}
	c.send(&pgproto3.Execute{}, &pgproto3.Sync{})
	c.wants(`D NULL|kept|\x616c736f`, "C SELECT 1", "ZI")
}

// TestPipeline sends many statements before it reads the first answer.
func TestPipeline(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	conn, err := pgxConnect(t, addr)
	if err != nil {
		t.Fatal(err)
	}
	p := conn.PgConn().StartPipeline(context.Background())
	for range 200 {
		p.SendQueryParams("rows 3", nil, nil, nil, nil)
	}
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	results := 0
	for {
		r, err := p.GetResults()
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			break
		}
		if rr, ok := r.(interface {
			NextRow() bool
		}); ok {
			n := 0
			for rr.NextRow() {
				n++
			}
			if n != 3 {
				t.Fatalf("%d rows", n)
			}
			results++
		} else {
			break
		}
	}
	if results != 200 {
		t.Errorf("%d results", results)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
