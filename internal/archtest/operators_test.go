package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// TestOperatorsAreHandled: each kind of plan node has a case in the code that places it on nodes, that
// builds its operators, and that runs it in the tests' slow reference. A kind that was added without
// one would fail only when a query has it. All else that differs between kinds is in the methods of
// plan.Node, which the compiler checks.
func TestOperatorsAreHandled(t *testing.T) {
	kinds := typesIn(find(t, "../../planner/plan/stage.go", "kinds"))
	if len(kinds) < 20 {
		t.Fatalf("kinds of plan nodes: %v", kinds)
	}
	for _, at := range []struct {
		file      string
		functions []string
		without   []string
	}{
		{"../../planner/stage/stage.go", []string{"place"}, []string{"Exchange"}},
		{"../../exec/build/build.go", []string{"build"}, []string{"Exchange"}},
		{"../../planner/stage/explain.go", []string{"fill"}, []string{"Exchange", "Receive", "Collect"}}, // named where stages are, and by their type
		{"../plantest/interp.go", []string{"Run", "unary"}, []string{"Exchange", "Receive", "Virtual", "Source", "TableWrite", "Collect", "TrainGroups"}},
	} {
		var got []string
		for _, f := range at.functions {
			got = append(got, typesIn(find(t, at.file, f))...)
		}
		for _, k := range kinds {
			if !slices.Contains(got, k) && !slices.Contains(at.without, k) {
				t.Errorf("%s: %s has no case for plan.%s", at.file, at.functions[0], k)
			}
		}
	}
}

// TestKindsAreListed: whatever is a node of plans is among those that can be sent between nodes, and so among
// those that the other tests look at; but for Apply, which no optimised plan has.
func TestKindsAreListed(t *testing.T) {
	kinds := append(typesIn(find(t, "../../planner/plan/stage.go", "kinds")), "Apply")
	files, err := filepath.Glob("../../planner/plan/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	nodes := 0
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || m.Name.Name != "WithChildren" {
				continue
			}
			star, ok := m.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue // what nodes embed
			}
			nodes++
			if name := star.X.(*ast.Ident).Name; !slices.Contains(kinds, name) {
				t.Errorf("%s is a node, and not among kinds", name)
			}
		}
	}
	if nodes < 10 {
		t.Errorf("%d nodes", nodes)
	}
}

// find returns the declaration of name in a file.
func find(t *testing.T, file, name string) ast.Node {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				return d.Body
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && v.Names[0].Name == name {
					return v
				}
			}
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return nil
}

// typesIn lists the types that n mentions, as plan.X in cases or as X in literals.
func typesIn(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, e := range n.List {
				if p, ok := e.(*ast.StarExpr); ok {
					if s, ok := p.X.(*ast.SelectorExpr); ok {
						names = append(names, s.Sel.Name)
					}
				}
			}
		case *ast.CompositeLit:
			if id, ok := n.Type.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
		}
		return true
	})
	return names
}
