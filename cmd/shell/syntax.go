package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/docs"
)

// topics are the statements that the manual's reference has.
func topics() []string { return docs.Statements() }

// syntaxCommand prints what the reference says of a statement, or if there is none of that name of all whose names
// begin so.
func syntaxCommand(s *session, _ context.Context, _ *splitter, a *arguments) error {
	asked := strings.ToUpper(strings.Join(strings.Fields(strings.TrimRight(a.line(), ";")), " "))
	names := topics()
	if asked == "" {
		fmt.Fprintf(s.io.Out, "Available help: %s\n", strings.Join(names, ", "))
		return nil
	}
	n, last := 0, ""
	_, exact := docs.Statement(asked)
	for _, name := range names {
		if text, _ := docs.Statement(name); asked == name || !exact && (asked == "*" || strings.HasPrefix(name, asked) || strings.HasPrefix(asked, name+" ")) {
			if n++; text != last { // several statements may share a section
				fmt.Fprintf(s.io.Out, "%s\n\n%s\n\n", name, text)
			}
			last = text
		}
	}
	if n == 0 {
		return fmt.Errorf(`no help for %q: \h lists what there is, the page /docs of a node has all`, asked)
	}
	return nil
}
