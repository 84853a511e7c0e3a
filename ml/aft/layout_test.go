package aft

import (
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/codec"
)

func TestManualLayout(t *testing.T) {
	manual.Part(t, "docs/explanation/layouts.md", "aft", "```\n"+codec.Layout(point{}, sums{}, progress{})+"```")
}
