package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts of testdata/sql give into them")

// TestScripts runs the scripts of testdata/sql on a node, each in a schema of its own. A script is a
// list of statements, each preceded by the name of its session and followed by the expected output,
// indented: rows, notices, then the command tag or the error.
//
//	connect b reader        opens session b as role reader; other sessions are opened by
//	                        their first statement, as superuser
//	a: insert into t values (1)
//	  INSERT 0 1
func TestScripts(t *testing.T) { runScripts(t, "testdata/sql/*.txt", start(t, 1), false, *rewrite) }

// TestModelScripts runs the scripts of testdata/models, in which errors have their hints and positions,
// on one node and on three.
func TestModelScripts(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) { runScripts(t, "testdata/models/*.txt", start(t, n), true, *rewrite && n == 1) })
	}
}

func runScripts(t *testing.T, pattern string, nodes []*Node, hints, rewrite bool) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			connect(t, nodes[len(nodes)-1]).must("create schema " + name)
			s := &script{t: t, node: nodes[len(nodes)-1], schema: name, hints: hints, rewrite: rewrite, sessions: map[string]*scriptSession{}}
			got := s.run(string(text))
			if rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type script struct {
	t        *testing.T
	node     *Node
	schema   string
	hints    bool
	rewrite  bool
	sessions map[string]*scriptSession
}

type scriptSession struct {
	s       *session.Session
	hints   bool
	notices []string
}

// progress matches the progress notices of a training: whether there are any depends on its duration.
var progress = regexp.MustCompile(`^training \S+: iteration \d+`)

func (s *scriptSession) Notice(e *pgerr.Error) {
	if progress.MatchString(e.Message) {
		return
	}
	s.notices = append(s.notices, fmt.Sprintf("%s %s: %s", e.Severity, e.Code, e.Message))
}

func (s *scriptSession) Parameter(string, string) {}

func (x *script) connect(name, role string) *scriptSession {
	x.t.Helper()
	if s := x.sessions[name]; s != nil {
		return s
	}
	s := &scriptSession{hints: x.hints}
	var err error
	if s.s, err = x.node.Engine().Connect(context.Background(), session.Startup{User: role, Database: "tributary", PID: pids.Add(1), Notify: s}); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = s.s.Close() })
	x.sessions[name] = s
	if _, err := (&client{x.t, s.s}).do("set search_path = " + x.schema); err != nil {
		x.t.Fatal(err)
	}
	return s
}

// run executes a script and returns it with the actual output.
func (x *script) run(text string) string {
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i] + "\n")
		if f := strings.Fields(lines[i]); len(f) == 3 && f[0] == "connect" {
			x.connect(f[1], f[2])
			continue
		}
		name, sql, ok := strings.Cut(lines[i], ": ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, " ") {
			continue
		}
		at := i + 1
		var want []string
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
			i++
			want = append(want, lines[i][2:])
		}
		got := strings.Split(strings.Join(x.connect(name, "tributary").give(sql), "\n"), "\n") // a value may have several lines
		for _, l := range got {
			out.WriteString("  " + l + "\n")
		}
		if !x.rewrite && strings.Join(got, "\n") != strings.Join(want, "\n") {
			x.t.Errorf("line %d: %s\ngave\n  %s\nwant\n  %s", at, lines[at-1], strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	return out.String()
}

// give runs a statement and returns what a client would receive.
func (s *scriptSession) give(sql string) []string {
	s.notices = nil
	var tag string
	p, err := (&client{s: s.s}).query(sql)
	var rows []string
	if err == nil {
		rows, err = read(p)
		tag = p.Tag()
	}
	if s.hints && tag == "DESCRIBE MODEL" { // hashes and metrics depend on the version of the engine
		rows = slices.DeleteFunc(rows, func(r string) bool {
			name, _, _ := strings.Cut(r, "|")
			return !slices.Contains([]string{"name", "version", "features", "target", "warning", "comment"}, name) && !strings.HasPrefix(name, "transform ")
		})
	}
	if s.hints && tag == "TRAIN MODEL" {
		for i, r := range rows {
			rows[i] = strings.Join(strings.Split(r, "|")[:5], "|") // losses and seconds differ between machines
		}
	}
	if serr := s.s.Sync(context.Background(), err == nil); err == nil {
		err = serr
	}
	if err == nil {
		return append(append(rows, s.notices...), tag)
	}
	out := s.notices
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return append(out, "ERROR "+err.Error())
	}
	out = append(out, fmt.Sprintf("ERROR %s: %s", e.Code, e.Message))
	if e.Detail != "" {
		out = append(out, "DETAIL: "+strings.ReplaceAll(e.Detail, "\n", "; "))
	}
	if s.hints && e.Hint != "" {
		out = append(out, "HINT: "+e.Hint)
	}
	if s.hints && e.Position > 0 {
		out = append(out, "AT: "+string([]rune(sql)[e.Position-1:]))
	}
	return out
}
