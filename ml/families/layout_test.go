package families

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/ml/family"
)

func TestManualLayout(t *testing.T) {
	names := func(list []*family.Option) string {
		var out []string
		for _, o := range list {
			out = append(out, o.Names[0])
		}
		slices.Sort(out)
		return strings.Join(slices.Compact(out), " | ")
	}
	lines := []string{"families = " + strings.Join(slices.Sorted(slices.Values(Names())), " | "), "options = " + names(family.Common)}
	for _, f := range All {
		lines = append(lines, fmt.Sprintf("options.%s = %s", f.Info().Name, names(f.Options())))
	}
	manual.Part(t, "docs/explanation/layouts.md", "families", "```\n"+strings.Join(lines, "\n")+"\n```")
}
