package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestGolden runs testdata/golden/*. Each case is a query string; the expected output is every
// statement with its command tag, or the error with a caret under its position.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "postgres":
				return describe(d.Input, Postgres)
			case "mysql":
				return describe(d.Input, MySQL)
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

func describe(sql string, d Dialect) string {
	list, err := Parse(sql, d)
	if err != nil {
		return describeError(sql, pgerr.From(err))
	}
	var b strings.Builder
	if len(list) == 0 {
		b.WriteString("nothing\n")
	}
	for _, s := range list {
		if sql[s.Offset:s.Offset+len(s.Text)] != s.Text {
			return "BUG: Offset and Text disagree"
		}
		fmt.Fprintf(&b, "%s", s.Tag())
		if n := s.NumParams(); n > 0 {
			fmt.Fprintf(&b, " params=%d", n)
		}
		if s.Extension != nil {
			fmt.Fprintf(&b, ": %s\n", describeExtension(s.Extension))
		} else {
			fmt.Fprintf(&b, ": %s\n", s.Node.SqlString())
		}
		for _, n := range s.Notices {
			fmt.Fprintf(&b, "  notice: %s\n", n)
		}
	}
	return b.String()
}

func describeError(sql string, e *pgerr.Error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Code, e.Message)
	if e.Position > 0 {
		before := []rune(sql)[:e.Position-1]
		line := string(before)
		if i := strings.LastIndexByte(line, '\n'); i >= 0 {
			line = line[i+1:]
		}
		full := sql[len(string(before))-len(line):]
		full, _, _ = strings.Cut(full, "\n")
		fmt.Fprintf(&b, "  |%s\n  |%s^\n", full, strings.Repeat(" ", len([]rune(line))))
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, "detail: %s\n", e.Detail)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", e.Hint)
	}
	return b.String()
}

// describeExtension prints the fields that are set, in their order.
func describeExtension(o Extension) string {
	var b strings.Builder
	field := func(name string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "false" && s != "0" && s != "[]" {
			fmt.Fprintf(&b, "\n  %s: %s", name, s)
		}
	}
	options := func(list []Option) {
		for _, o := range list {
			fmt.Fprintf(&b, "\n  option %s@%d = %s (%T, %s)", o.Name, o.Pos, o.Value.SqlString(), o.Value, o.Text)
		}
	}
	query := func(q *ast.SelectStmt, text string) {
		if q != nil {
			fmt.Fprintf(&b, "\n  query: %s\n  text: %s", q.SqlString(), text)
		}
	}
	switch o := o.(type) {
	case *TrainModel:
		field("name", fmt.Sprint(o.Name, " at ", o.NamePos))
		field("create", o.Create)
		field("or replace", o.OrReplace)
		field("if not exists", o.IfNotExists)
		field("algorithm", o.Algorithm)
		if len(o.Predict) > 0 {
			field("predict", fmt.Sprint(o.Predict, " at ", o.PredictPos))
		}
		for _, r := range o.Transform {
			field("transform", fmt.Sprintf("%s = %s", r.Name, r.Val.SqlString()))
		}
		options(o.Options)
		query(o.Query, o.QueryText)
	case *Retrain:
		field("name", o.Name)
		query(o.Query, o.QueryText)
	case *ResumeTraining:
		field("name", o.Name)
	case *CancelTraining:
		field("name", o.Name)
		if o.Trial != 0 {
			field("trial", o.Trial)
		}
	case *DescribeModel:
		field("name", o.Name)
		field("version", o.Version)
		field("as", o.As)
	case *VerifyModel:
		field("name", o.Name)
		field("version", o.Version)
	case *AlterModel:
		field("name", o.Name)
		field("if exists", o.IfExists)
		field("rename to", o.RenameTo)
		field("default version", o.DefaultVersion)
		field("owner to", o.OwnerTo)
		field("alias", o.SetAlias)
		field("version", o.AliasVersion)
		field("drop alias", o.DropAlias)
	case *DropModel:
		field("names", o.Names)
		field("if exists", o.IfExists)
		field("cascade", o.Cascade)
	case *ExportModel:
		field("name", o.Name)
		field("version", o.Version)
		field("uri", o.URI)
		options(o.Options)
	case *ImportModel:
		field("name", o.Name)
		field("uri", o.URI)
		options(o.Options)
	case *Backup:
		field("kind", o.Kind)
		field("name", o.Name)
		field("uri", o.URI)
		options(o.Options)
	case *Restore:
		field("kind", o.Kind)
		field("name", o.Name)
		field("as", o.As)
		field("uri", o.URI)
		field("as of", o.AsOf)
		options(o.Options)
	case *Undrop:
		field("name", o.Name)
		field("as of", o.AsOf)
		field("as", o.As)
	case *ShowBackups:
		field("uri", o.URI)
	case *Explain:
		field("analyze", o.Analyze)
		field("verbose", o.Verbose)
		for _, x := range o.Options {
			field("explain option", x.Defname)
		}
		b.WriteString(describeExtension(o.Train))
	case *AlterNode:
		field("node", o.Name)
		field("action", o.Action)
		field("with", o.With)
		field("force", o.Force)
		options(o.Set)
		field("reset", o.Reset)
	case *AlterTableRepartition:
		field("name", o.Name)
		field("if exists", o.IfExists)
		field("into", o.N)
	}
	return strings.TrimPrefix(b.String(), "\n")
}
