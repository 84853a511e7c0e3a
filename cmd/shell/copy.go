package shell

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

// copyOf returns the direction of a COPY through the connection, or of a model's file: "", " to stdout"
// or " from stdin".
func copyOf(sql string) string {
	words := strings.Fields(strings.ToLower(sql))
	if len(words) == 0 || words[0] != "copy" && !modelFile(words) {
		return ""
	}
	text := strings.Join(words, " ") + " "
	for _, way := range []string{" to stdout", " from stdin"} {
		if strings.Contains(text, way+" ") || strings.Contains(text, way+"(") {
			return way
		}
	}
	return ""
}

// modelFile reports whether a statement in lower case is EXPORT MODEL or IMPORT MODEL.
func modelFile(words []string) bool {
	return len(words) > 1 && (words[0] == "export" || words[0] == "import") && words[1] == "model"
}

const copyPrompt = ">> "

// copyLines are the lines below a COPY … FROM STDIN, up to one of \. or the end.
type copyLines struct {
	from     *source
	line     string
	over     bool
	file     bool // of bytes, in which no line ends it
	canceled *atomic.Bool
}

func (c *copyLines) Read(p []byte) (int, error) {
	for c.line == "" {
		if c.over {
			return 0, io.EOF
		}
		var err error
		if c.line, err = c.from.row(copyPrompt); err != nil && err != io.EOF {
			c.over = true
			if errors.Is(err, errInterrupted) {
				err = errors.New("canceled by user")
			}
			return 0, err
		}
		if c.canceled.Load() { // the line that was being typed is none of the next statement's
			c.over, c.line = true, ""
			return 0, errors.New("canceled by user")
		}
		if end := !c.file && strings.TrimRight(c.line, "\r\n") == `\.`; end || err != nil {
			c.over = true
			if end {
				c.line = ""
			}
		}
	}
	n := copy(p, c.line)
	c.line = c.line[n:]
	return n, nil
}

// drain skips the remaining lines after an error, so that rows are not run as
// statements.
func (c *copyLines) drain() error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// openSource opens a file, or a |COMMAND's output.
func openSource(target string) (io.Reader, func() error, error) {
	command, ok := strings.CutPrefix(target, "|")
	if !ok {
		f, err := os.Open(home(target))
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	c := exec.Command("sh", "-c", command)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	return out, func() error { _ = out.Close(); return c.Wait() }, nil
}
