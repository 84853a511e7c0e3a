package train

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// TestManualOptions keeps the manual's tables of options.
func TestManualOptions(t *testing.T) {
	text, _, _ := strings.Cut(Manual(), "### `fading`") // which is the tests'
	manual.Part(t, "docs/ml.md", "options", text)
}
