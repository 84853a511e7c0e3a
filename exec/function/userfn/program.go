package userfn

import (
	"crypto/sha256"
	"math"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	// maxSource bounds the text, and with it how deep the parser and the compiler nest.
	maxSource = 64 << 10
	// MaxSteps is how many steps a call may take, where the function does not set another number.
	MaxSteps = 10_000_000
	// chunk is how many steps are taken between looks at the context and the memory.
	chunk = 10_000
	// stepBytes is what a step is taken to allocate beside what is charged where it happens.
	stepBytes = 16
)

// program is a compiled function. It is shared by all threads.
type program struct {
	name  string
	code  *starlark.Program
	batch bool // def f(batch)
}

var options = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// programs has the compiled functions by the hash of what they are compiled from.
var programs struct {
	sync.Mutex
	m map[[32]byte]*program
}

const maxPrograms = 256

// Check compiles a function for its errors.
func Check(f *catalog.Function) error {
	p, err := compile(f)
	if err != nil {
		return err
	}
	if len(f.Outputs()) > 1 && !f.Set {
		return pgerr.Unsupported("Starlark functions with several OUT parameters are supported as RETURNS TABLE only")
	}
	if p.batch && f.Set {
		return pgerr.Unsupported("a Starlark function by batch cannot return a set")
	}
	_, err = p.start(f)
	return err
}

// load returns the compiled form of a function.
func load(f *catalog.Function) (*program, error) {
	h := sha256.New()
	for _, s := range append([]string{f.Name, f.Body}, shape(f)...) {
		h.Write([]byte(strconv.Itoa(len(s)) + " " + s))
	}
	key := [32]byte(h.Sum(nil))
	programs.Lock()
	p := programs.m[key]
	programs.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := compile(f)
	if err != nil {
		return nil, err
	}
	programs.Lock()
	defer programs.Unlock()
	if programs.m == nil || len(programs.m) >= maxPrograms {
		programs.m = map[[32]byte]*program{}
	}
	programs.m[key] = p
	return p, nil
}

// shape is what of a function's parameters its code depends on.
func shape(f *catalog.Function) (out []string) {
	for _, a := range f.Inputs() {
		out = append(out, a.Name, strconv.Itoa(int(a.Type.OID)))
	}
	return out
}

func compile(f *catalog.Function) (*program, error) {
	if len(f.Body) > maxSource {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the source of a Starlark function may have at most %d bytes", maxSource)
	}
	file, err := options.Parse(f.Name, f.Body, 0)
	def := findDef(file, f.Name)
	if def == nil {
		// The body alone, as PL/Python has it.
		wrapped, werr := options.Parse(f.Name, wrap(f), 0)
		switch {
		case werr == nil && err == nil && onlyDefs(file):
			return nil, invalid(f, "it defines no function %s", f.Name)
		case werr == nil:
			file, err = wrapped, nil
			def = findDef(file, f.Name)
		case err == nil || strings.Contains(f.Body, "return"):
			err = werr
		}
	}
	if err != nil {
		return nil, syntaxError(f, err)
	}
	p := &program{name: f.Name}
	if len(def.Params) == 1 {
		if id, ok := def.Params[0].(*syntax.Ident); ok && id.Name == "batch" {
			in := f.Inputs()
			p.batch = len(in) != 1 || in[0].Name != "batch"
		}
	}
	if !p.batch && !accepts(def, len(f.Inputs())) {
		return nil, invalid(f, "def %s must take the %d arguments of the function, or one that is called batch", f.Name, len(f.Inputs()))
	}
	g := newGuard(f, def, file, p.batch)
	if err := g.file(file); err != nil {
		return nil, err
	}
	if p.code, err = starlark.FileProgram(file, predeclared().Has); err != nil {
		return nil, syntaxError(f, err)
	}
	return p, nil
}

// onlyDefs reports whether a file is definitions and assignments, and so no body of a function.
func onlyDefs(f *syntax.File) bool {
	for _, s := range f.Stmts {
		if _, ok := s.(*syntax.DefStmt); ok {
			return true
		}
	}
	return false
}

func findDef(f *syntax.File, name string) *syntax.DefStmt {
	if f == nil {
		return nil
	}
	for _, s := range f.Stmts {
		if d, ok := s.(*syntax.DefStmt); ok && d.Name.Name == name {
			return d
		}
	}
	return nil
}

// wrap makes a function of a body.
func wrap(f *catalog.Function) string {
	var b strings.Builder
	b.WriteString("def " + f.Name + "(")
	for i, a := range f.Inputs() {
		name := a.Name
		if name == "" {
			name = "arg" + strconv.Itoa(i+1)
		}
		b.WriteString(name + ", ")
	}
	b.WriteString("):")
	for _, l := range strings.Split(f.Body, "\n") {
		b.WriteString("\n  " + l)
	}
	b.WriteString("\n")
	return b.String()
}

// accepts reports whether a def takes n positional arguments.
func accepts(d *syntax.DefStmt, n int) bool {
	least, most := 0, 0
	for _, p := range d.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			least, most = least+1, most+1
		case *syntax.BinaryExpr:
			most++
		case *syntax.UnaryExpr:
			if p.Op == syntax.STAR && p.X != nil {
				most = math.MaxInt
			}
			return least <= n && n <= most
		}
	}
	return least <= n && n <= most
}
