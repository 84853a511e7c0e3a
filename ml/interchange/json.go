package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
)

// JSON reads a file that is one object of JSON; what is unknown in it is skipped.
func JSON(format string, b []byte, into any) error {
	if deep(b) {
		return Damaged(format, "it is nested too deeply")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	err := d.Decode(into)
	var at *json.SyntaxError
	switch {
	case errors.As(err, &at):
		return Damaged(format, "%v at byte %d", err, at.Offset)
	case err != nil:
		return Damaged(format, "%v", err)
	case len(bytes.TrimSpace(b[d.InputOffset():])) > 0:
		return Damaged(format, "something follows its object")
	}
	return nil
}

// mostDeep is how deep a file may be nested; ours are less than half of it.
const mostDeep = 32

// deep reports whether JSON is nested deeper than that.
func deep(b []byte) bool {
	level, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if level++; level > mostDeep {
				return true
			}
		case c == '}' || c == ']':
			level--
		}
	}
	return false
}
