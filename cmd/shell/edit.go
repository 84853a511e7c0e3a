package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reeflective/readline"
)

// editor reads statements from the terminal with a line editor: history over sessions, search, completion, and
// several lines that are one statement. It returns when a statement or a \command is complete.
func (s *session) editor(ctx context.Context) *source {
	rl := readline.NewShell()
	rl.History.Delete()
	rl.History.Add("history", openHistory(first(os.Getenv("TRIBUTARY_HISTORY"), home("~/.tributary_history"))))
	prompt := ""
	rl.Prompt.Primary(func() string { return prompt })
	rl.AcceptMultiline = func(line []rune) bool { return complete(string(line)) }
	rl.Completer = func(line []rune, at int) readline.Completions {
		return s.completions(ctx, string(line), len(string(line[:at])))
	}
	rl.SyntaxHighlighter = func(line []rune) string { return highlight(string(line)) }
	var held []string // further lines of what was read
	return &source{lines: func(p string) (string, error) {
		if len(held) > 0 {
			line := held[0]
			held = held[1:]
			return line + "\n", nil
		}
		if p == copyPrompt { // rows are data, no statements: no history, and nothing is completed
			return plainLine(p)
		}
		prompt = p
		text, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			return "", errInterrupted
		case err != nil:
			return "", io.EOF
		}
		lines := strings.Split(text, "\n")
		held = lines[1:]
		return lines[0] + "\n", nil
	}}
}

// plainLine reads a line from the terminal as it is. It takes no byte more, which would be the editor's.
func plainLine(prompt string) (string, error) {
	fmt.Fprint(os.Stdout, prompt)
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := os.Stdin.Read(b)
		if line = append(line, b[:n]...); err != nil || n > 0 && b[0] == '\n' {
			return string(line), err
		}
	}
}

// complete reports whether a text ends a statement, or is a \command or a word that needs no semicolon.
func complete(text string) bool {
	var sp splitter
	for _, l := range strings.Split(text, "\n") {
		word := strings.ToLower(strings.TrimSpace(l))
		if !sp.quoted() && (word == "quit" || word == "exit" || word == "help") {
			return true
		}
		if _, command := sp.add(l); command {
			return true
		}
	}
	return !sp.open()
}
