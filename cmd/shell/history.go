package shell

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/parse"
)

// history are the statements of this session and of earlier ones, kept in a file with a quoted statement a line.
type history struct {
	path  string
	lines []string
}

// historyLength is how many statements are kept.
const historyLength = 5000

func openHistory(path string) *history {
	h := &history{path: path}
	f, err := os.Open(path)
	if err != nil {
		return h // the first session
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if line, err := strconv.Unquote(in.Text()); err == nil {
			h.lines = append(h.lines, line)
		}
	}
	if n := len(h.lines); n > historyLength {
		h.lines = h.lines[n-historyLength:]
		var b strings.Builder
		for _, l := range h.lines {
			b.WriteString(strconv.Quote(l) + "\n")
		}
		_ = os.WriteFile(path, []byte(b.String()), 0o600) // an older history is no harm
	}
	return h
}

// Write adds a statement. One with a password or a secret is not kept, nor one that begins with a space.
func (h *history) Write(line string) (int, error) {
	text := strings.TrimSpace(line)
	if text == "" || strings.HasPrefix(line, " ") || parse.MentionsSecret(text) || len(h.lines) > 0 && h.lines[len(h.lines)-1] == text {
		return len(h.lines), nil
	}
	h.lines = append(h.lines, text)
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return len(h.lines), nil // this session's history is kept in memory
	}
	defer f.Close()
	_, _ = f.WriteString(strconv.Quote(text) + "\n")
	return len(h.lines), nil
}

func (h *history) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.lines) {
		return "", errors.New("no such line of the history")
	}
	return h.lines[i], nil
}

func (h *history) Len() int  { return len(h.lines) }
func (h *history) Dump() any { return h.lines }
