package archtest

import (
	"go/ast"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostMethods is how many a type has at most. One with more has several things to do, or knows too much.
const mostMethods = 40

// exception is a number above a limit, and why. The number is the true one: it may only become smaller.
type exception struct {
	n   int
	why string
}

// longTypes have more than mostMethods.
var longTypes = map[string]exception{
	"cluster/coord.dispatcher":     {46, "a method a kind of statement"},
	"cluster/node.Node":            {45, "joins all rooms of a node; what it answers for each is a method"},
	"cluster/session.Session":      {78, "what each statement may ask of its session; parts are to be types of their own"},
	"cluster/write.Executor":       {49, "a method a kind of write"},
	"cmd/shell.session":            {77, "a method a command of the shell"},
	"exec/deparse.deparser":        {50, "a method a kind of node"},
	"exec/mem.Pool":                {48, "budget, queue and what gives way share one lock"},
	"exec/op/aggregate.aggThread":  {58, "phases of one thread that share its tables; they are to be types"},
	"exec/store.Store":             {57, "segments, files and readers of a node; files are to be a type of their own"},
	"ml/record.Store":              {56, "rows as they come, in the file, by leaf; those are to be types"},
	"planner/bind.dmlBinder":       {56, "a method a clause of the four statements that write"},
	"planner/bind/scope.Scope":     {55, "what every clause asks of names; relations and windows are to be types"},
	"planner/bind/typing.Resolver": {83, "a method a rule of PostgreSQL's types"},
	"planner/ddl.planner":          {111, "a method a statement; statements are to be types"},
	"planner/stage.placer":         {41, "a method a kind of node"},
	"sql/catalog.State":            {56, "a method a kind of object"},
	"sql/mysql.translator":         {108, "a method a production of the other grammar"},
	"sql/number.Decimal":           {59, "PostgreSQL's functions of numeric"},
	"sql/parse.source":             {51, "a method a production that the grammar lacks"},
	"wire/pg.conn":                 {56, "a method a message"},
}

// TestMethodsPerType: the types with more methods than mostMethods are those of longTypes, and grow no further.
func TestMethodsPerType(t *testing.T) {
	got := map[string]int{}
	for dir, files := range packages(t) {
		for _, s := range files {
			for _, d := range s.ast.Decls {
				if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
					got[dir+"."+receiver(m.Recv.List[0].Type)]++
				}
			}
		}
	}
	maps.DeleteFunc(got, func(_ string, n int) bool { return n <= mostMethods })
	compare(t, "longTypes", "methods", longTypes, got)
}

// knotted are packages in which more than a fifth of the arrows run up.
var knotted = map[string]exception{
	"cluster/node":         {8, "the node's parts call each other as it starts and stops"},
	"cluster/repl":         {4, "sending and receiving know each other's messages"},
	"exec/build":           {7, "an operator's builder builds its inputs: recursion"},
	"exec/copyfmt":         {6, "formats and the reader that chooses them"},
	"exec/deparse":         {6, "expressions contain subqueries: recursion"},
	"exec/function/textfn": {4, "format and concat print any value"},
	"exec/mem":             {5, "budget, queue and what gives way share one lock"},
	"exec/op/aggregate":    {22, "the phases of aggThread are methods of one type"},
	"exec/regex":           {5, "the matchers are chosen where the program is compiled"},
	"planner/bind":         {8, "statements contain queries: recursion"},
	"planner/bind/query":   {10, "queries contain queries: recursion"},
	"planner/bind/scope":   {15, "names, relations and windows ask each other; they are to be types"},
	"planner/ddl":          {23, "the methods of planner, a statement each"},
	"planner/narrow":       {4, "an expression is as narrow as those in it: recursion"},
	"planner/plan":         {15, "nodes and the list of their kinds"},
	"planner/stage":        {9, "stages are cut inside what is cut: recursion"},
	"planner/unnest":       {4, "subqueries contain subqueries: recursion"},
	"sql/mysql":            {9, "the productions of a grammar: recursion"},
	"wire/console":         {5, "rooms of one page and the server that shows them"},
	"wire/pg":              {7, "the messages of one connection"},
}

// TestArrows: the files of a package can be put in an order in which at most a fifth of the arrows between them run
// up, so that it can be read from one end to the other. Below ten arrows nothing is asked. upward says what is counted.
func TestArrows(t *testing.T) {
	got := map[string]int{}
	for dir, files := range packages(t) {
		if up, all := upward(files); all >= 10 && up*5 > all {
			got[dir] = up
		}
	}
	compare(t, "knotted", "arrows up", knotted, got)
}

// compare holds what exceeds a limit against the list of what may. A number that has become smaller is to be lowered
// in the list too, so that it cannot grow again.
func compare(t *testing.T, list, what string, may map[string]exception, got map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		switch e := may[name]; {
		case e.why == "":
			t.Errorf("%s has %d %s: divide it, or give the reason in %s", name, got[name], what, list)
		case got[name] > e.n:
			t.Errorf("%s has %d %s, and had %d: it may only shrink", name, got[name], what, e.n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(may)) {
		if n := got[name]; n == 0 {
			t.Errorf("%s is within the limit of %s now: take it off %s", name, what, list)
		} else if n < may[name].n {
			t.Errorf("%s has %d %s now: say so in %s instead of %d", name, n, what, list, may[name].n)
		}
	}
}

var repositoryPath = regexp.MustCompile(`\b[a-z][a-z0-9]*(?:/[\w.-]*\w)+`)

// TestTestsAreNamed: a package of more than 300 lines has a test file beside it, or a line in its doc.go that begins
// with "Tested by" and names the tests, or the packages of them, that cover it: they exist.
func TestTestsAreNamed(t *testing.T) {
	tests := map[string]bool{}
	eachFile(t, func(p string, _ *ast.File) {
		if strings.HasSuffix(p, "_test.go") {
			tests[path.Dir(p)] = true
		}
	})
	all := packages(t)
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		lines, names := 0, []string(nil)
		for _, s := range all[dir] {
			lines += linesOf(s.ast)
			if path.Base(s.path) != "doc.go" || s.ast.Doc == nil {
				continue
			}
			if _, by, ok := strings.Cut(s.ast.Doc.Text(), "Tested by "); ok {
				by, _, _ = strings.Cut(by, "\n\n")
				names = repositoryPath.FindAllString(by, -1)
			}
		}
		within := "" // "cluster/node (testdata/sql)" names a path in a path
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(root, name)); err == nil {
				within = name
			} else if _, err := os.Stat(filepath.Join(root, within, name)); err != nil || within == "" {
				t.Errorf("%s/doc.go: %s, by which it is tested, is not there", dir, name)
			}
		}
		if lines > 300 && !tests[dir] && len(names) == 0 {
			t.Errorf("%s has %d lines and no test beside it: say in its doc.go which tests cover it", dir, lines)
		}
	}
}

// vagueNames sign nothing: whoever looks for something does not find it in a file of such a name.
var vagueNames = strings.Fields(`afresh again alike apart aside ask bent common copied crowd derive down draw earlier early expect finished found fresh given growing guess
	halves helper helpers here in item keep kept keyed later lead learnt lent listed made misc now observed once onerow other othervalue out
	over own ownblocks qualified refound renew room separate ship short some spared stays taken then things together travel two unread util
	utils various wait when whole wholebelow wide written`)

// TestFileNames: a file is called by a noun that says what is in it.
func TestFileNames(t *testing.T) {
	eachFile(t, func(p string, _ *ast.File) {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(p), ".go"), "_test")
		if slices.Contains(vagueNames, name) {
			t.Errorf("%s: call it by a noun that says what is in it", p)
		}
	})
}

// upward counts the arrows between the files of a package, and those of them that run up in the best order of the
// files that is found. An arrow runs from a file to another one that declares what it uses: a function, type,
// variable or constant, or a method that nothing else of the package is called like and no other package can have,
// as its name is not exported. What several uses need is one arrow.
func upward(files []source) (up, all int) {
	declares, methods := map[string][]int{}, map[string][]int{}
	for i, s := range files {
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declares[d.Name.Name] = append(declares[d.Name.Name], i)
				} else if !d.Name.IsExported() {
					methods[d.Name.Name] = append(methods[d.Name.Name], i)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declares[spec.Name.Name] = append(declares[spec.Name.Name], i)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							declares[name.Name] = append(declares[name.Name], i)
						}
					}
				}
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok { // what is also called like a field is not known to be the method
				for _, name := range f.Names {
					methods[name.Name] = append(methods[name.Name], -1)
				}
			}
			return true
		})
	}
	uses := make([]map[int]bool, len(files))
	for i, s := range files {
		uses[i] = map[int]bool{}
		for _, name := range s.ast.Unresolved {
			if at := declares[name.Name]; len(at) == 1 && at[0] != i { // what is there for each platform is in several
				uses[i][at[0]] = true
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				if at := methods[x.Sel.Name]; len(at) == 1 && at[0] >= 0 && at[0] != i {
					uses[i][at[0]] = true
				}
			}
			return true
		})
		all += len(uses[i])
	}
	up = all
	for seed := range uint64(4) { // the order that is found depends a little on where the search begins
		rank := make([]int, len(files))
		for r, i := range arrange(uses, rand.New(rand.NewPCG(seed, 1)).Perm(len(files))) {
			rank[i] = r
		}
		n := 0
		for i := range uses {
			for j := range uses[i] {
				n += min(1, max(0, rank[j]-rank[i]))
			}
		}
		up = min(up, n)
	}
	return up, all
}

// arrange orders nodes so that few arrows lead to a later one: whatever is used by nothing that is left comes last,
// whatever uses nothing that is left comes first, and otherwise that which uses least, set against how often it is
// used (the heuristic of Eades, Lin and Smyth). Then each is moved to where it is best, until none moves.
func arrange(uses []map[int]bool, nodes []int) []int {
	left := map[int]bool{}
	for _, i := range nodes {
		left[i] = true
	}
	var first, last []int
	for len(left) > 0 {
		best, least, sink := -1, 0, false
		for _, i := range nodes {
			if !left[i] {
				continue
			}
			out, in := 0, 0
			for j := range left {
				if uses[i][j] {
					out++
				}
				if uses[j][i] {
					in++
				}
			}
			if in == 0 && out > 0 {
				best, sink = i, true
				break
			}
			if d := out - in; out == 0 || best < 0 || d < least {
				best, least = i, d
				if out == 0 {
					break
				}
			}
		}
		if sink {
			last = append(last, best)
		} else {
			first = append(first, best)
		}
		delete(left, best)
	}
	slices.Reverse(last)
	order := append(first, last...)
	for moved := true; moved; {
		moved = false
		for at := 0; at < len(order); at++ {
			i := order[at]
			best, gain, sum := at, 0, 0
			for to := at - 1; to >= 0; to-- { // before order[to]: i's use of it runs up, its use of i no more
				sum += cost(uses, order[to], i) - cost(uses, i, order[to])
				if sum > gain {
					best, gain = to, sum
				}
			}
			sum = 0
			for to := at + 1; to < len(order); to++ {
				sum += cost(uses, i, order[to]) - cost(uses, order[to], i)
				if sum > gain {
					best, gain = to, sum
				}
			}
			if gain > 0 {
				order = slices.Insert(slices.Delete(order, at, at+1), best, i)
				moved = true
			}
		}
	}
	return order
}

// cost is what it costs that i stands before j: whether i uses it.
func cost(uses []map[int]bool, i, j int) int {
	if uses[i][j] {
		return 1
	}
	return 0
}
