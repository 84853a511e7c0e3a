package userfn

import (
	"errors"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func invalid(f *catalog.Function, format string, args ...any) error {
	return pgerr.New(pgerr.InvalidFunctionDefinition, "the source of Starlark function %s is not valid", f.Name).WithDetail(format, args...)
}

func syntaxError(f *catalog.Function, err error) error {
	line, msg := 0, err.Error()
	var se syntax.Error
	var re resolve.ErrorList
	switch {
	case errors.As(err, &se):
		line, msg = int(se.Pos.Line), se.Msg
	case errors.As(err, &re) && len(re) > 0:
		line, msg = int(re[0].Pos.Line), re[0].Msg
	}
	return pgerr.New(pgerr.SyntaxError, "Starlark function %s: %s", f.Name, msg).WithDetail("Line %d of its source.", lineOf(f, line))
}

// lineOf is the line of the source that a line of what was compiled is: a body alone stands below its def.
func lineOf(f *catalog.Function, line int) int {
	if !strings.Contains(f.Body, "def "+f.Name) && line > 1 {
		line--
	}
	return line
}
