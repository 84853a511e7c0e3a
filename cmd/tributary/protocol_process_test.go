package main

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

var recordProtocol = flag.String("record", "", "a PostgreSQL 15, postgres://USER@HOST:PORT/DATABASE, whose answers are written into testdata/protocol")

// TestProtocol sends messages of the protocol and compares the answers with those that PostgreSQL 15 gave to the same bytes.
//
// A file of testdata/protocol is a list of cases, each on a connection of its own: "case" and its name, "start" with startup parameters where it has any,
// then lines of messages (see message), "--" where the answers are awaited, and the answers. -record writes these.
func TestProtocol(t *testing.T) {
	files, err := filepath.Glob("testdata/protocol/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	addr, user, database, quiet := "", "tributary", "tributary", time.Duration(0)
	if *recordProtocol != "" {
		u, err := url.Parse(*recordProtocol)
		if err != nil {
			t.Fatal(err)
		}
		addr, user, database, quiet = u.Host, u.User.Username(), strings.Trim(u.Path, "/"), 300*time.Millisecond
	} else {
		addr = startProcess(t, t.TempDir(), "").PG
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &protocolScript{t: t, addr: addr, user: user, database: database, quiet: quiet}
			defer s.close()
			got := s.run(string(text))
			if *recordProtocol != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// protocolScript runs one file.
type protocolScript struct {
	t                    *testing.T
	addr, user, database string
	quiet                time.Duration // recording: how long a server is silent that has no more to say
	nc                   net.Conn
	fe                   *pgproto3.Frontend
	name                 string
	failed               bool // the case, whose rest is left out
}

func (s *protocolScript) close() {
	if s.nc != nil {
		_ = s.nc.Close()
	}
	s.nc = nil
}

// run returns the script with the answers that came.
func (s *protocolScript) run(text string) string {
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		fmt.Fprintln(&out, line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || s.failed && word != "case":
		case word == "case":
			s.close()
			s.name, s.failed = rest, false
		case word == "start":
			s.open(strings.Fields(rest)...)
		case line == "--":
			s.open()
			var want []string
			for i+1 < len(lines) && isAnswer(lines[i+1]) {
				i++
				want = append(want, strings.TrimSpace(lines[i]))
			}
			for _, a := range s.answers(want) {
				fmt.Fprintln(&out, "  "+a)
			}
		default:
			s.open()
			if _, err := s.nc.Write(message(s.t, line)); err != nil {
				s.t.Fatalf("%s: %s: %v", s.name, line, err)
			}
		}
	}
	return out.String()
}

func isAnswer(line string) bool { return strings.HasPrefix(line, "  ") }

// answers reads the answers: as many as are wanted, or, recording, all that come.
func (s *protocolScript) answers(want []string) (got []string) {
	for s.quiet > 0 || len(got) < len(want) {
		patience := longest
		if s.quiet > 0 {
			patience = s.quiet
		}
		_ = s.nc.SetReadDeadline(time.Now().Add(patience))
		m, err := s.fe.Receive()
		if err != nil && s.quiet > 0 {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				// The reader has failed for good; what it had read belongs to no message.
				s.fe = pgproto3.NewFrontend(s.nc, s.nc)
				return got
			}
		}
		a := "closed"
		if err == nil {
			a = answer(m)
		} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
			a = "nothing"
		}
		got = append(got, a)
		if s.quiet == 0 && a != want[len(got)-1] {
			s.t.Errorf("%s: answer %d is\n%s\nwant\n%s", s.name, len(got), a, strings.Join(want, "\n"))
			s.failed = true
			return got
		}
		if err != nil {
			return got
		}
	}
	return got
}

// open connects, if there is no connection yet, to see the schema protocol. What comes before the first ReadyForQuery is not compared.
func (s *protocolScript) open(params ...string) {
	if s.nc != nil {
		return
	}
	var err error
	if s.nc, err = net.Dial("tcp", s.addr); err != nil {
		s.t.Fatal(err)
	}
	s.fe = pgproto3.NewFrontend(s.nc, s.nc)
	m := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": s.user, "database": s.database, "search_path": "protocol"}}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		m.Parameters[name] = value
	}
	s.fe.Send(m)
	if err := s.fe.Flush(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.nc.SetReadDeadline(time.Now().Add(longest))
	for {
		m, err := s.fe.Receive()
		if err != nil {
			s.t.Fatalf("%s: startup: %v", s.name, err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			s.t.Fatalf("%s: startup: %s %s", s.name, m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			return
		}
	}
}

// message is what a line sends. Names are "-" where they are empty; \xNN is a byte, and \s a space within a word.
//
//	P name query             B portal statement [value …]      BB: binary results
//	D {S|P} name             E portal [limit]                  C {S|P} name
//	H, S, Q query, F, X      d data, c, f reason
func message(t *testing.T, line string) []byte {
	unquote := func(s string) string {
		u, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(s, `"`, `\"`), `\s`, ` `) + `"`)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return u
	}
	words := strings.Split(line, " ")
	arg := func(i int) string {
		if i >= len(words) || words[i] == "-" {
			return ""
		}
		return unquote(words[i])
	}
	rest := func(i int) string { return unquote(strings.Join(words[min(i, len(words)):], " ")) }
	var m pgproto3.FrontendMessage
	switch words[0] {
	case "P":
		m = &pgproto3.Parse{Name: arg(1), Query: rest(2)}
	case "B", "BB":
		b := &pgproto3.Bind{DestinationPortal: arg(1), PreparedStatement: arg(2)}
		for i := 3; i < len(words); i++ {
			b.Parameters = append(b.Parameters, []byte(arg(i)))
		}
		if words[0] == "BB" {
			b.ResultFormatCodes = []int16{1}
			b.ParameterFormatCodes = []int16{1}
		}
		m = b
	case "D":
		m = &pgproto3.Describe{ObjectType: arg(1)[0], Name: arg(2)}
	case "E":
		limit, _ := strconv.Atoi(arg(2))
		m = &pgproto3.Execute{Portal: arg(1), MaxRows: uint32(limit)}
	case "C":
		m = &pgproto3.Close{ObjectType: arg(1)[0], Name: arg(2)}
	case "H":
		m = &pgproto3.Flush{}
	case "S":
		m = &pgproto3.Sync{}
	case "Q":
		m = &pgproto3.Query{String: rest(1)}
	case "d":
		m = &pgproto3.CopyData{Data: []byte(rest(1))}
	case "c":
		m = &pgproto3.CopyDone{}
	case "f":
		m = &pgproto3.CopyFail{Message: rest(1)}
	case "X":
		m = &pgproto3.Terminate{}
	default:
		t.Fatalf("no such message: %q", line)
	}
	b, err := m.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// printable writes bytes beyond ASCII as \xNN.
func printable(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		if c < ' ' || c > '~' {
			fmt.Fprintf(&out, `\x%02x`, c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// answer writes a message as the scripts have it.
func answer(m pgproto3.BackendMessage) string {
	say := func(kind string, e pgproto3.ErrorResponse) string {
		s := fmt.Sprintf("%s %s %s %s", kind, e.Severity, e.Code, printable([]byte(e.Message)))
		for _, f := range []struct{ name, value string }{{"detail", e.Detail}, {"hint", e.Hint}} {
			if f.value != "" {
				s += " | " + f.name + ": " + printable([]byte(f.value))
			}
		}
		if strings.HasPrefix(e.Where, "COPY t") && e.Code != "57014" { // of rows; elsewhere the two differ
			s += " | context: " + printable([]byte(e.Where))
		}
		if e.Position != 0 {
			s += fmt.Sprintf(" | at %d", e.Position)
		}
		return s
	}
	switch m := m.(type) {
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(m.TxStatus)
	case *pgproto3.CommandComplete:
		return "CommandComplete " + string(m.CommandTag)
	case *pgproto3.ErrorResponse:
		return say("ErrorResponse", *m)
	case *pgproto3.NoticeResponse:
		return say("NoticeResponse", pgproto3.ErrorResponse(*m))
	case *pgproto3.ParameterStatus:
		return "ParameterStatus " + m.Name + "=" + m.Value
	case *pgproto3.ParameterDescription:
		return fmt.Sprint("ParameterDescription ", m.ParameterOIDs)
	case *pgproto3.RowDescription:
		s := "RowDescription"
		for _, f := range m.Fields {
			s += fmt.Sprintf(" %s:%d/%d", printable(f.Name), f.DataTypeOID, f.Format)
		}
		return s
	case *pgproto3.DataRow:
		s := "DataRow"
		for _, v := range m.Values {
			if v == nil {
				s += " NULL"
			} else {
				s += " [" + printable(v) + "]"
			}
		}
		return s
	case *pgproto3.CopyData:
		return "CopyData " + printable(m.Data)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}
