package recommend

import (
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/codec"
)

func TestManualLayout(t *testing.T) {
	manual.Part(t, "docs/explanation/layouts.md", "matrix-factorization", "```\n"+codec.Layout(pairs{}, solveStep{}, solved{}, totals{})+"```")
}
