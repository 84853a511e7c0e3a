package linear

import (
	"testing"

	pages "github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/codec"
)

func TestManualLayout(t *testing.T) {
	pages.Part(t, "docs/explanation/layouts.md", "linear", "```\n"+codec.Layout(partial{})+"```")
}
