package archtest

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
)

// theirs are names in the documentation that look like Go names or files of this repository and are not.
var theirs = map[string]string{
	"strings.Builder":        "Go's library",
	"context.Context":        "Go's library",
	"PrevLogEntry":           "hashicorp/raft",
	"LeaderCommitIndex":      "hashicorp/raft",
	"TemporaryMemoryManager": "DuckDB",
	"TaskMemoryManager":      "Spark",
	"ML.PREDICT(MODEL m, …)": "BigQuery ML",
}

var (
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	pathLike  = regexp.MustCompile(`^\.?[a-z][\w-]*(/[\w.*-]+)+/?$`)
	goFile    = regexp.MustCompile(`^\w+\.go$`)
	selector  = regexp.MustCompile(`^(?:[a-z]\w*|[A-Z]\w*)(?:\.\w+)*\.[A-Z]\w*$`)
	camelCase = regexp.MustCompile(`^[A-Za-z]*[a-z][A-Z]\w*(\.\w+)*$`)
)

// goNames are the names that the repository's Go files declare.
type goNames struct {
	packages map[string]bool // by their last names
	declared map[string]bool // top-level names, methods and fields
	within   map[string]bool // package.Name, Type.Member
	files    map[string]bool // base names of Go files
}

func readNames(t *testing.T) goNames {
	n := goNames{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	eachFile(t, func(file string, f *ast.File) {
		n.files[filepath.Base(file)] = true
		pkg := strings.TrimSuffix(f.Name.Name, "_test")
		n.packages[pkg] = true
		n.packages[path.Base(filepath.ToSlash(filepath.Dir(file)))] = true
		add := func(owner, name string) {
			n.declared[name] = true
			n.within[owner+"."+name] = true
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(pkg, d.Name.Name)
				if d.Recv != nil {
					add(receiver(d.Recv.List[0].Type), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(pkg, id.Name)
						}
					case *ast.TypeSpec:
						add(pkg, s.Name.Name)
						ast.Inspect(s.Type, func(x ast.Node) bool {
							if field, ok := x.(*ast.Field); ok {
								for _, id := range field.Names {
									add(s.Name.Name, id.Name)
								}
							}
							return true
						})
					}
				}
			}
		}
	})
	for _, module := range []string{"tools", "packaging"} {
		err := filepath.WalkDir(filepath.Join(root, module), func(file string, _ fs.DirEntry, err error) error {
			n.files[filepath.Base(file)] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// missing says why a name in back quotes names nothing of ours, or returns "". Words in mixed case count
// only on pages for who works on the code: elsewhere they name what other programs have.
func (n goNames) missing(name string, words bool) string {
	name, _, _ = strings.Cut(name, "(") // a call
	switch {
	case goFile.MatchString(name):
		if !n.files[name] {
			return "no file has this name"
		}
	case pathLike.MatchString(name):
		first, _, _ := strings.Cut(name, "/")
		if _, err := os.Stat(filepath.Join(root, first)); err != nil {
			return "" // of a node's directory, of a module, of another project
		}
		if found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name))); err == nil && len(found) > 0 {
			return ""
		}
		dir, last := path.Split(name) // ml/train.Worker
		if pkg, id, ok := strings.Cut(last, "."); ok {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir+pkg))); err == nil {
				return n.missing(pkg+"."+id, words)
			}
		}
		return "no file or directory has this path"
	case selector.MatchString(name):
		parts := strings.Split(name, ".")
		owner, last := parts[len(parts)-2], parts[len(parts)-1]
		if (n.packages[parts[0]] || n.declared[parts[0]]) && !n.within[owner+"."+last] {
			return owner + " has no " + last
		} else if !n.packages[parts[0]] && !n.declared[parts[0]] {
			return "there is no " + parts[0]
		}
	case words && camelCase.MatchString(name):
		name, _, _ = strings.Cut(name, ".")
		if !n.declared[name] && !n.packages[name] {
			return "nothing has this name"
		}
	}
	return ""
}

// TestManualNames: names in back quotes that look like ours are there: paths and files of the repository,
// package.Name, Type.Member, and names in mixed case.
func TestManualNames(t *testing.T) {
	names := readNames(t)
	met := map[string]bool{}
	for _, page := range append([]string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}, manual.Pages(t)...) {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		words := page == "CONTRIBUTING.md" || strings.HasPrefix(page, "docs/decisions/") || strings.HasPrefix(page, "docs/explanation/")
		fence := false
		for i, line := range strings.Split(string(b), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fence = !fence
			}
			if fence {
				continue
			}
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				if theirs[m[1]] != "" {
					met[m[1]] = true
				} else if says := names.missing(m[1], words); says != "" {
					t.Errorf("%s, line %d: `%s`: %s", page, i+1, m[1], says)
				}
			}
		}
	}
	for name := range theirs {
		if !met[name] {
			t.Errorf("%s is in the list of exceptions and on no page", name)
		}
	}
	if len(names.declared) < 10000 {
		t.Errorf("only %d names are declared: this test looks in the wrong place", len(names.declared))
	}
}
