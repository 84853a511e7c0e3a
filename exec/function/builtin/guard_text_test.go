package builtin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// free lists the files that may allocate text without a meter, and why it is short there: names,
// patterns of a plan, output of the catalog.
var free = map[string]string{
	"arena.go": "charges itself", "text.go": "charges itself", "meter.go": "charges itself", "vec.go": "charged by its callers",
	"fingerprint.go": "plans", "catalogdef.go": "catalog", "catalogfn.go": "catalog", "deparse.go": "catalog", "deparsecall.go": "catalog", "deparseop.go": "catalog", "deparsequery.go": "catalog", "deparsefrom.go": "catalog", "deparselayout.go": "catalog", "viewdef.go": "catalog", "acl.go": "names", "reg.go": "names", "privilege.go": "names",
	"like.go": "patterns, charged where they are compiled", "quote.go": "names, charged by parseIdent", "system.go": "settings", "posix.go": "patterns, bounded there", "backtrack.go": "charges itself", "enums.go": "labels", "encodings.go": "names",
}

// TestKernelsChargeText: kernels that return values of variable length allocate them through
// Call.Text, whose meter charges memory first. The test looks in the source for other ways to build
// text.
func TestKernelsChargeText(t *testing.T) {
	forbidden := map[string]bool{
		"strings.Repeat": true, "strings.Builder": true, "strings.ReplaceAll": true, "strings.Replace": true, "strings.Map": true,
		"strings.Split": true, "strings.SplitN": true, "strings.Join": true, "strings.Fields": true, "strings.NewReplacer": true,
		"bytes.Buffer": true, "bytes.Repeat": true, "bytes.Clone": true, "bytes.Join": true, "bytes.ReplaceAll": true, "slices.Repeat": true,
		"base64.StdEncoding.EncodeToString": true, "base64.StdEncoding.DecodeString": true, "memory.DefaultAllocator": true,
	}
	var files []string
	for _, dir := range []string{"../../vector", "../../regex", "../../compare", "../../cast", "../../objname", "../../deparse", "../../eval", "..", "../*"} {
		in, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, in...)
	}
	looked := 0
	for _, path := range files {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || free[name] != "" {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		looked++
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if full := dottedName(n); forbidden[full] {
					t.Errorf("%s: %s: write through Call.Text, or charge and list the file", fset.Position(n.Pos()), full)
				}
			case *ast.CallExpr:
				of := n.Fun
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "make" {
					of = n.Args[0]
				} else if len(n.Args) == 1 && dottedName(n.Args[0]) == "nil" {
					return true
				}
				if a, ok := of.(*ast.ArrayType); ok && a.Len == nil {
					if e := dottedName(a.Elt); e == "rune" || e == "byte" {
						t.Errorf("%s: []%s is made without being charged", fset.Position(n.Pos()), e)
					}
				}
			}
			return true
		})
	}
	if looked < 50 {
		t.Fatalf("looked at %d files", looked)
	}
}

// dottedName writes a.b.c.
func dottedName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return dottedName(e.X) + "." + e.Sel.Name
	}
	return ""
}
