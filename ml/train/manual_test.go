package train

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// TestManualOptions keeps the manual's tables of options.
func TestManualOptions(t *testing.T) {
	text, _, _ := strings.Cut(Manual(), "### `fading`") // which exists in tests only
	manual.Part(t, "docs/ml.md", "options", text)
}
