package train

import (
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// TestManualOptions keeps the manual's tables of options.
func TestManualOptions(t *testing.T) {
	manual.Part(t, "docs/ml.md", "options", Manual())
}
