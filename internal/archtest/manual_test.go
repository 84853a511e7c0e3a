package archtest

import (
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// TestManualPackages: the manual's list of packages is that of order, with the first sentence of each
// package's comment.
func TestManualPackages(t *testing.T) {
	var rows [][]string
	for i := len(order) - 1; i >= 0; i-- {
		l := order[i]
		if l.packages == nil {
			rows = append(rows, []string{"`" + l.layer + "`", "the binary and its commands: what joins the wire to the engine; the shell, the demo"})
		}
		for j := len(l.packages) - 1; j >= 0; j-- {
			dir := strings.TrimSuffix(l.layer+"/"+l.packages[j], "/")
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(dir), "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			text := new(doc.Package).Synopsis(f.Doc.Text())
			for _, p := range []string{"Package " + f.Name.Name + " is ", "Package " + f.Name.Name + " "} {
				text = strings.TrimPrefix(text, p)
			}
			rows = append(rows, []string{"`" + dir + "`", strings.TrimSuffix(text, ".")})
		}
	}
	manual.Part(t, "docs/explanation/architecture.md", "packages", manual.Table([]string{"package", ""}, rows))
}

// TestManualFiles: the files that the manual's page on the architecture names exist.
func TestManualFiles(t *testing.T) {
	manual.Files(t, "docs/explanation/architecture.md")
	manual.Files(t, "CONTRIBUTING.md")
}
