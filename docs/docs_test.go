package docs

import (
	"strings"
	"testing"
)

// TestStatement: the reference answers for what people ask a shell about.
func TestStatement(t *testing.T) {
	for name, says := range map[string]string{
		"create table": "[TEMP | UNLOGGED]", "  Alter   TABLE ": "REPARTITION", "COPY": "DELIMITER", "insert": "ON CONFLICT", "merge": "WHEN",
		"train model": "PREDICT", "grant": "PUBLIC", "explain": "ANALYZE", "begin": "ISOLATION", "drop model": "VERSION", "create model": "PREDICT", "start transaction": "SAVEPOINT",
	} {
		text, ok := Statement(name)
		if !ok || !strings.Contains(text, says) || strings.Contains(text, "tributary=#") || strings.Contains(text, "```") || strings.Contains(text, "](") {
			t.Errorf("%s: %v %q", name, ok, text)
		}
	}
	if _, ok := Statement("frobnicate"); ok {
		t.Error("a statement that there is not")
	}
	if n := len(Statements()); n < 60 {
		t.Errorf("%d statements", n)
	}
}
