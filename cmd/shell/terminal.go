package shell

import (
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"
)

// IO is where the shell reads and writes. Interrupts, where not nil, are the
// person's Ctrl-C. Size returns the columns and lines of the terminal that shows the output, 0 where none does.
type IO struct {
	In          io.Reader
	Out, Err    io.Writer
	Interactive bool
	Process     bool // the process's own: its files of settings are read
	Interrupts  <-chan os.Signal
	Size        func() (columns, lines int)
	Password    func(prompt string) (string, error)
}

// Terminal is the process's own input and output. The returned function stops catching
// Ctrl-C.
func Terminal() (IO, func()) {
	std := IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Process: true}
	out := int(os.Stdout.Fd())
	if term.IsTerminal(out) {
		std.Size = func() (int, int) {
			columns, lines, _ := term.GetSize(out) // 0 where it is not known
			return columns, lines
		}
	}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) || std.Size == nil {
		// In a pipe Ctrl-C ends the process; the server notices that the connection is
		// closed.
		signal.Reset(os.Interrupt)
		return std, func() {}
	}
	std.Password = func(prompt string) (string, error) {
		fmt.Fprint(os.Stderr, prompt)
		defer fmt.Fprintln(os.Stderr)
		p, err := term.ReadPassword(in)
		return string(p), err
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	std.Interactive, std.Interrupts = true, c
	return std, func() { signal.Stop(c) }
}
