package function

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Host is what planning statements about functions needs of the statement's planner.
type Host interface {
	Bind() *bind.Session
	State() *catalog.State // with the changes so far
	Super() bool
	Tag(string)
	Add(...catalog.Change) error
	// Undo returns what makes the changes since undone.
	Undo() func()
	NewOID() (types.OID, error)
	Notice(format string, args ...any)
	Warning(code pgerr.Code, format string, args ...any)
	Cascades(what []string)
	Setting(name, value string) error
	// Check checks the body of a function in another language than SQL. bind says that SQL is to be bound.
	Check(*catalog.Function) (err error, bind bool)

	Owns(owner types.OID) bool
	MustOwn(owner types.OID, kind, name string) error
	May(catalog.Object, byte) bool
	MayCreate(*catalog.Schema) error
	MayReceive(owner types.OID, sc *catalog.Schema) error

	NameIn(schema types.OID, name string) string
	SchemaFor(*ast.RangeVar) (*catalog.Schema, error)
	Lasting() []string
	UsableType(*ast.TypeName) (types.Type, error)
	// RemoveUses drops the views, defaults, constraints, columns, indexes and models that call a function. depends is told of
	// each first, and may refuse.
	RemoveUses(f *catalog.Function, depends func(what string) error) error
}

// Planner plans the statements about functions.
type Planner struct{ Host }

// dependent is the error that something depends on what is to be dropped.
func dependent(what, detail string) error {
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
		WithDetail("%s", detail).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

// dependencies are what a parsed body reads and calls.
func dependencies(uses []plan.TableUse) (out []catalog.Dep) {
	seen := map[catalog.Dep]bool{}
	for _, u := range uses {
		for _, c := range append([]int16{0}, u.Columns...) {
			if d := (catalog.Dep{OID: u.OID, Column: c}); !seen[d] {
				seen[d] = true
				out = append(out, d)
			}
		}
	}
	return out
}
