package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// TestManualCalls lists the calls between nodes, by their names. A call that the version before does not
// have may only be made where something else does its work until the cluster is finalised.
func TestManualCalls(t *testing.T) {
	call := regexp.MustCompile(`(?m)^(?:const)?\s*call[A-Z]\w*\s*= "([\w.-]+)"$`)
	var names []string
	err := filepath.WalkDir(filepath.Join(manual.Root(t), "cluster"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range call.FindAllStringSubmatch(string(b), -1) {
			names = append(names, m[1])
		}
		return err
	})
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	slices.Sort(names)
	manual.Part(t, "docs/explanation/layouts.md", "calls", "```\ncalls = "+strings.Join(names, " | ")+"\n```")
}
