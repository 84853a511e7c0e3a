package isolation

import (
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/codec"
)

func TestManualLayout(t *testing.T) {
	manual.Part(t, "docs/explanation/layouts.md", "isolation-forest", "```\n"+codec.Layout(body{}, partial{}, progress{})+"```")
}

// rowsOf are the first rows of a block.
func rowsOf(n int) family.Rows { return family.Rows{To: n} }
