package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"
)

// editor reads statements from the terminal with a line editor: history over sessions, search, completion, and
// several lines that are one statement. It returns when a statement or a \command is complete.
func (s *session) editor(ctx context.Context) *source {
	rl := readline.NewShell()
	rl.History.Delete()
	rl.History.Add("history", openHistory(first(os.Getenv("TRIBUTARY_HISTORY"), home("~/.tributary_history"))))
	prompt := ""
	rl.Prompt.Primary(func() string { return prompt })
	configure(rl)
	rl.AcceptMultiline = func(line []rune) bool { return complete(string(line)) }
	rl.Completer = func(line []rune, at int) readline.Completions {
		return s.completions(ctx, string(line), len(string(line[:at])))
	}
	rl.SyntaxHighlighter = func(line []rune) string {
		text := string(line)
		if os.Getenv("NO_COLOR") != "" {
			return s.room(prompt, text) + text
		}
		return s.room(prompt, text) + highlight(text)
	}
	var held []string // further lines of what was read
	or := func(read func(string) (string, error)) func(string) (string, error) {
		return func(p string) (string, error) {
			if len(held) > 0 {
				line := held[0]
				held = held[1:]
				return line + "\n", nil
			}
			return read(p)
		}
	}
	// What is no statement has no history, and nothing is completed.
	return &source{data: or(plainLine), lines: or(func(p string) (string, error) {
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
	})}
}

// configure sets what the editor does otherwise than by default.
func configure(rl *readline.Shell) {
	for name, value := range map[string]any{
		// As in psql and bash, Tab adds what all candidates begin with and shows them; the next ones choose.
		"menu-complete-display-prefix": true,
		"usage-hint-always":            true, // how many candidates are not shown
		// é is a letter, not Meta-i.
		"convert-meta": false,
		// Asking the terminal where the cursor is loses keys that arrive together with its answer; see room.
		"cursor-position-probe": false,
	} {
		_ = rl.Config.Set(name, value)
	}
	for _, keymap := range []string{"emacs", "vi-insert"} {
		for sequence, action := range map[string]string{`\t`: "menu-complete", `\M-[A`: "up-line-or-history", `\M-OA`: "up-line-or-history", `\M-[B`: "down-line-or-history", `\M-OB`: "down-line-or-history"} {
			_ = rl.Config.Bind(keymap, inputrc.Unescape(sequence), action, false)
		}
	}
	// Ctrl-C gives up the statement, also where candidates are shown, and takes no key that follows it.
	rl.Keymap.Register(map[string]func(){"give-up": func() {
		rl.Display.ResetHelpers()
		rl.Display.AcceptLine()
		rl.History.Accept(false, false, readline.ErrInterrupt)
	}})
	for keymap := range rl.Config.Binds {
		_ = rl.Config.Bind(keymap, inputrc.Unescape(`\C-c`), "give-up", false)
	}
}

// room returns what makes the terminal scroll until it has a line below those of the text, where the editor
// draws and clears: it moves up again by as much as it moved down, and at the bottom it could not move down.
func (s *session) room(prompt, text string) string {
	columns, _ := s.io.Size()
	if columns == 0 {
		return ""
	}
	rows := 1
	for _, line := range strings.Split(text, "\n") {
		rows += 1 + (width(prompt)+width(line))/columns
	}
	rows--
	return strings.Repeat("\x1bD", rows) + fmt.Sprintf("\x1b[%dA", rows)
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
		if !sp.quoted() && (word == "quit" || word == "exit" || word == "help") || !sp.open() && dotted(l) {
			return true
		}
		if _, command := sp.add(l); command {
			return true
		}
	}
	return !sp.open()
}
