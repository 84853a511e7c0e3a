package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cmd/flags"
)

func TestLogFormat(t *testing.T) {
	none := func(string) string { return "" }
	write := func(args ...string) string {
		s, err := readSettings(flags.New("serve", ""), args, none)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		slog.New(s.logs(&out)).Info("hello", "a", 1)
		return out.String()
	}
	var rec map[string]any
	if err := json.Unmarshal([]byte(write("--log-format", "json")), &rec); err != nil || rec["msg"] != "hello" || rec["a"] != 1.0 {
		t.Error(rec, err)
	}
	if text := write(); !strings.Contains(text, "msg=hello a=1") {
		t.Error(text)
	}
	if _, err := readSettings(flags.New("serve", ""), []string{"--log-format", "xml"}, none); err == nil {
		t.Error("xml is taken")
	}
}
