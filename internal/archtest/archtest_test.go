package archtest

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/tributarydb/tributary/"

// order lists the packages of each layer, lowest first. A package may import
// packages of lower layers and those before it in its own layer.
var order = []struct {
	layer    string
	packages []string
}{
	{"docs", []string{""}}, // the manual's text, which anything may show
	{"sql", []string{"pgerr", "version", "internal/golden", "ascii", "charset", "checked", "hash", "tochar", "number", "datetime", "json", "jsonpath", "inet", "types", "codec", "lex", "mysql", "parse", "catalog"}},
	{"planner", []string{"fn", "expr", "plan", "rewrite", "props", "bind/typing", "bind/scope", "bind/query", "bind/model", "bind", "rule", "derive", "unnest", "subplan", "late", "narrow", "opt", "stage", "", "ddl/kept", "ddl/function", "ddl"}},
	{"exec", []string{"spare", "turn", "mem", "disk", "object", "batch", "kernel/f64", "kernel/f32", "kernel/exact", "kernel/hist", "kernel/bins", "kernel/selection", "kernel/search", "kernel/sketch", "kernel/pairs", "metric", "profile", "kernel", "kernel/lookup", "spill", "jsonpath", "vector", "function", "regex", "compare", "objname", "function/textfn", "function/netfn", "function/mathfn", "function/timefn", "function/jsonfn", "function/arrayfn", "function/sysfn", "function/setfn", "function/userfn", "cast", "function/builtin", "eval", "deparse", "agg", "rowset", "partition", "op", "op/join", "op/order", "op/fold", "op/window", "op/recursive", "op/aggregate", "prune", "store/hashindex", "store", "copyfmt", "source", "sysview", "build", "task"}},
	{"ml", []string{"canon", "objective", "optim", "reduce", "search", "tempfile", "block", "holdout", "record", "impute", "words", "spline", "numbering", "feature", "profiling", "shape", "graph", "family", "calibration", "rows", "gram", "linear", "tree", "kmeans", "decomp", "net", "cox", "aft", "bayes", "mixture", "isolation", "neighbors", "forecast", "recommend", "imported", "families", "model", "groups", "interchange", "interchange/selfjson", "interchange/onnx", "interchange/xgboost", "interchange/lightgbm", "interchange/safetensors", "interchange/pmml", "interchange/formats", "train"}},
	{"cluster", []string{"tlsconf", "observe", "otlp", "resource", "advisory", "meta", "past", "rpc", "raftnode", "place", "repl", "backup", "archive", "storage", "sched", "flow", "worker", "trainer", "settings", "query", "txn", "sequence", "cursor", "write", "define", "copydata", "session", "admin", "training", "schedule", "coord", "node"}},
	{"wire", []string{"auth", "codec", "limit", "session", "pg", "site", "console", "http"}},
	{"cmd", nil},
}

// wireSees are the only packages of the engine that packages of the layer wire may import.
var wireSees = []string{"sql/", "exec/batch", "docs"}

// layerOf returns the layer's rank and the rank of the package within the layer. The longest listed
// prefix counts, so that kernel/f64 may come before kernel. A package below a listed one has the rank
// -1; generators (internal/gen) and packages of test helpers have that of the listed one.
func layerOf(path string) (layer, within int, ok bool) {
	first, rest, _ := strings.Cut(path, "/")
	for i, l := range order {
		if l.layer != first {
			continue
		}
		best, at := -1, -1
		for j, p := range l.packages {
			if (rest == p || strings.HasPrefix(rest, p+"/")) && len(p) > best {
				best, at = len(p), j
				if rest != p && !strings.HasSuffix(rest, "/internal/gen") && !strings.HasSuffix(rest, "test") {
					at = -1
				}
			}
		}
		if at < 0 && first == "cmd" {
			at = 0
		}
		return i, at, true
	}
	return 0, 0, false
}

func TestImportOrder(t *testing.T) {
	eachFile(t, func(path string, f *ast.File) {
		dir := filepath.ToSlash(filepath.Dir(path))
		layer, within, ok := layerOf(dir)
		if !ok || strings.HasSuffix(path, "_test.go") {
			return
		}
		if within < 0 {
			t.Errorf("%s: package %s is not in the order of archtest; give it its place", path, dir)
			return
		}
		for _, imp := range f.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			if !strings.HasPrefix(p, module) {
				continue
			}
			p = strings.TrimPrefix(p, module)
			l, w, ok := layerOf(p)
			switch {
			case !ok:
				t.Errorf("%s imports %s, which is in no layer", path, p)
			case l > layer, l == layer && w > within:
				t.Errorf("%s imports %s: against the order of the folders", path, p)
			case order[layer].layer == "wire" && order[l].layer != "wire" &&
				!slices.ContainsFunc(wireSees, func(s string) bool { return strings.HasPrefix(p+"/", s) || p == s }):
				t.Errorf("%s imports %s: the wire sees only sql and exec/batch", path, p)
			}
		}
	})
}

// TestNoParserBelow: the evaluator and the function library import neither the parser nor the binder,
// directly or through other packages: they work on bound expressions only.
func TestNoParserBelow(t *testing.T) {
	imports := map[string][]string{}
	eachFile(t, func(path string, f *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		for _, imp := range f.Imports {
			if p, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module); ok {
				imports[dir] = append(imports[dir], p)
			}
		}
	})
	for _, top := range []string{"exec/eval", "exec/function/builtin", "exec/cast"} {
		below := []string{top}
		for i := 0; i < len(below); i++ {
			for _, p := range imports[below[i]] {
				if p == "sql/parse" || p == "sql/mysql" || strings.HasPrefix(p, "planner/bind") {
					t.Errorf("%s reaches %s by %s", top, p, below[i])
				}
				if !slices.Contains(below, p) {
					below = append(below, p)
				}
			}
		}
		if len(below) < 10 {
			t.Errorf("%s imports only %v: this test looks in the wrong place", top, below)
		}
	}
}

func TestEveryPackageHasDoc(t *testing.T) {
	dirs := map[string]bool{}
	eachFile(t, func(path string, _ *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			dirs[filepath.Dir(path)] = true
		}
	})
	for d := range dirs {
		if _, err := os.Stat(filepath.Join(root, d, "doc.go")); err != nil && !strings.HasPrefix(d, "cmd") {
			t.Errorf("%s has no doc.go", d)
		}
	}
}

func TestFileLength(t *testing.T) {
	eachFile(t, func(path string, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		if n := linesOf(f); n > 801 {
			t.Errorf("%s has %d lines; 800 is the limit", path, n)
		}
	})
}

// longPackages are those with more than 6,000 lines and why each is one idea all the same. A limit that
// nothing lifts makes packages be cut where they are long and not where they bend.
var longPackages = map[string]string{
	"exec/source":      "one idea, a file a format; the Parquet reader waits to become a package of its own",
	"exec/agg":         "one idea, a file an aggregate's state",
	"exec/store":       "one idea, the segments of a node",
	"cluster/raftnode": "one idea, a member of raft; its journal waits to become a package of its own",
	"ml/tree":          "one idea, how trees grow; what a trained model does and says waits to become a package of its own",
	"ml/train":         "is to be divided: its rows are to be a query's",
}

// TestPackageLength: a package of more than 6,000 lines, its tests apart, probably has two ideas; it is
// divided, or says in longPackages why not.
func TestPackageLength(t *testing.T) {
	lines := map[string]int{}
	eachFile(t, func(path string, f *ast.File) {
		if !ast.IsGenerated(f) && !strings.HasSuffix(path, "_test.go") {
			lines[filepath.ToSlash(filepath.Dir(path))] += linesOf(f)
		}
	})
	for dir, n := range lines {
		if n > 6000 && longPackages[dir] == "" {
			t.Errorf("%s has %d lines, more than 6,000: divide it, or give its reason in longPackages", dir, n)
		}
	}
}

// pure are packages that compute a result from their arguments alone: no clock, no goroutine, no I/O.
// Tests can then run them with any order of events.
var pure = []string{"planner/", "ml/objective", "ml/optim", "ml/reduce", "ml/search/", "ml/impute", "ml/words", "ml/spline", "ml/numbering", "exec/metric", "exec/profile", "ml/calibration", "cluster/sched/", "cluster/place", "sql/catalog"}

func TestPurePackages(t *testing.T) {
	eachFile(t, func(path string, f *ast.File) {
		p := filepath.ToSlash(path)
		if strings.HasSuffix(p, "_test.go") || !slices.ContainsFunc(pure, func(s string) bool { return strings.HasPrefix(p, s) }) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine in a pure package", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && (x.Name == "time" && (n.Sel.Name == "Now" || n.Sel.Name == "Sleep") || x.Name == "os") {
					t.Errorf("%s: %s.%s in a pure package", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	})
}

// TestNoPrint: only cmd prints; all else logs by slog.
func TestNoPrint(t *testing.T) {
	eachFile(t, func(path string, f *ast.File) {
		p := filepath.ToSlash(path)
		if strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, "cmd/") || strings.Contains(p, "internal/gen") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "fmt" && (s.Sel.Name == "Println" || s.Sel.Name == "Printf" || s.Sel.Name == "Print") {
					t.Errorf("%s: fmt.%s outside cmd", fset.Position(s.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	})
}

var root = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if f, err := os.Open(filepath.Join(dir, "go.mod")); err == nil {
			defer f.Close()
			if s := bufio.NewScanner(f); s.Scan() && strings.HasSuffix(s.Text(), "tributarydb/tributary") {
				return dir
			}
		}
		dir = filepath.Dir(dir)
	}
}()

// source is a Go file of the product. All are parsed once, for all laws.
type source struct {
	path string
	ast  *ast.File
}

var fset = token.NewFileSet()

var sources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (strings.HasPrefix(name, ".") && path != root || name == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() && path != root {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir // a module of its own: packaging, tools
			}
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		all = append(all, source{filepath.ToSlash(rel), f})
		return err
	})
	return all, err
})

func eachFile(t *testing.T, visit func(path string, f *ast.File)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		visit(s.path, s.ast)
	}
}

// packages are the files of each package of the product that people wrote, without tests and generators.
func packages(t *testing.T) map[string][]source {
	all := map[string][]source{}
	eachFile(t, func(p string, f *ast.File) {
		if dir := path.Dir(p); !ast.IsGenerated(f) && !strings.HasSuffix(p, "_test.go") && !strings.Contains(dir, "internal/") {
			all[dir] = append(all[dir], source{p, f})
		}
	})
	return all
}

func linesOf(f *ast.File) int { return fset.File(f.Pos()).LineCount() }
