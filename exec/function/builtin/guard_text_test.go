package builtin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// free lists the files, by their paths in exec, that may allocate text without a meter, and why it is short there: names,
// patterns of a plan, output of the catalog.
var free = map[string]string{
	"deparse/deparse.go":            "catalog",
	"deparse/deparsecall.go":        "catalog",
	"deparse/deparselayout.go":      "catalog",
	"deparse/deparseop.go":          "catalog",
	"deparse/deparsequery.go":       "catalog",
	"eval/fingerprint.go":           "plans",
	"function/sysfn/acl.go":         "names",
	"function/sysfn/catalogdef.go":  "catalog",
	"function/sysfn/catalogfn.go":   "catalog",
	"function/sysfn/functiondef.go": "catalog",
	"function/sysfn/privilege.go":   "names",
	"function/textfn/encodings.go":  "names",
	"function/textfn/like.go":       "patterns, charged where they are compiled",
	"function/textfn/quote.go":      "names, charged by parseIdent",
	"function/textfn/similar.go":    "charged by runesOf before",
	"function/userfn/program.go":    "sources, which are bounded",
	"function/userfn/value.go":      "charged by its callers",
	"objname/reg.go":                "names",
	"regex/backtrack.go":            "charges itself",
	"regex/posix.go":                "patterns, bounded there",
	"vector/arena.go":               "charges itself",
	"vector/meter.go":               "charges itself",
	"vector/text.go":                "charges itself",
	"vector/vec.go":                 "charged by its callers",
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
	exec, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	looked, needed := 0, map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, exec+string(filepath.Separator)))
		found := func(pos token.Position, what string) {
			if needed[name] = true; free[name] == "" {
				t.Errorf("%s: %s", pos, what)
			}
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
					found(fset.Position(n.Pos()), full+": write through Call.Text, or charge and list the file")
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
						found(fset.Position(n.Pos()), "[]"+e+" is made without being charged")
					}
				}
			}
			return true
		})
	}
	for name := range free {
		if !needed[name] {
			t.Errorf("%s need not be listed", name)
		}
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
