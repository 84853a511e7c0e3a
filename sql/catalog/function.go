package catalog

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Function is a function or an aggregate that a user made. Descriptors are shared and never changed.
type Function struct {
	OID    types.OID
	Schema types.OID
	Name   string
	Owner  types.OID
	ACL    []Grant
	// Args are all parameters, the columns of RETURNS TABLE among them, in order.
	Args []FunctionArg
	Ret  types.Type
	Set  bool // SETOF, TABLE
	// Strict: NULL in, NULL out, without a call. Definer: the body has the rights of the owner.
	Strict, Definer, Leakproof bool
	Volatility                 byte // 'i', 's', 'v'
	Parallel                   byte // 's', 'r', 'u'
	Cost, Rows                 float64
	Config                     []NamedText // SET of settings
	Language                   string
	Body                       string
	// Parsed: the body is RETURN or BEGIN ATOMIC, whose names mean what they meant under Path when it
	// was made. Other bodies are read anew at every call, under the path of the caller.
	Parsed    bool
	Returns   bool // it was RETURN expression
	Path      []string
	DependsOn []Dep
	Aggregate *Aggregate // nil: a plain function
}

// Aggregate is what an aggregate is made of: functions by OID, 0 for none.
type Aggregate struct {
	Next, Final, Combine types.OID
	State                types.Type
	Init                 *string // the first state as text; nil for NULL
	FinalExtra           bool    // Final takes a NULL for each argument too
	FinalModify          byte    // 'r', 's', 'w': a promise that is kept for dumps, as no state is ever changed
	Space                int32   // SSPACE, kept for dumps
}

// FunctionArg is a parameter of a function.
type FunctionArg struct {
	Name    string
	Type    types.Type
	Mode    byte   // of pg_proc.proargmodes: 'i', 'o', 'b' (in and out), 'v' (variadic), 't' (column of the result)
	Default string // SQL text; "" for none
}

// Object returns the function as an object of privileges.
func (f *Function) Object() Object { return Object{Class: ClassFunction, Owner: f.Owner, ACL: f.ACL} }

// The languages of functions.
const (
	LanguageSQL      = "sql"
	LanguageStarlark = "starlark"
)

// Inputs are the parameters that a call has arguments for.
func (f *Function) Inputs() (in []FunctionArg) {
	for _, a := range f.Args {
		if a.Mode == 'i' || a.Mode == 'b' || a.Mode == 'v' {
			in = append(in, a)
		}
	}
	return in
}

// Outputs are the parameters that are columns of the result.
func (f *Function) Outputs() (out []FunctionArg) {
	for _, a := range f.Args {
		if a.Mode == 'o' || a.Mode == 'b' || a.Mode == 't' {
			out = append(out, a)
		}
	}
	return out
}

// InputTypes are the types that tell overloads apart.
func (f *Function) InputTypes() []types.OID {
	out := []types.OID{}
	for _, a := range f.Inputs() {
		out = append(out, a.Type.OID)
	}
	return out
}

type (
	// PutFunction makes or replaces a function.
	PutFunction struct{ Function *Function }
	// DropFunction removes a function.
	DropFunction struct{ OID types.OID }
)

func (c *PutFunction) apply(e *edit) error {
	f := c.Function
	if e.s.schemas[f.Schema] == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema with OID %d does not exist", f.Schema)
	}
	in := f.InputTypes()
	for _, o := range e.s.FunctionsNamed(f.Schema, f.Name) {
		if o.OID != f.OID && slices.Equal(o.InputTypes(), in) {
			return pgerr.New(pgerr.DuplicateFunction, "function %q already exists with same argument types", f.Name)
		}
	}
	e.removeFunctionName(f.OID)
	names := writable(e, mapFunctionNames, &e.s.functionNames)
	key := QName{f.Schema, f.Name}
	list := append(slices.Clone(names[key]), f.OID)
	slices.Sort(list)
	names[key] = list
	writable(e, mapFunctions, &e.s.functions)[f.OID] = f
	e.noteOID(f.OID)
	e.putFunctions = append(e.putFunctions, f)
	return nil
}

func (c *DropFunction) apply(e *edit) error {
	if e.s.functions[c.OID] == nil {
		return conflict("delete")
	}
	e.removeFunctionName(c.OID)
	delete(writable(e, mapFunctions, &e.s.functions), c.OID)
	e.dropComments(c.OID)
	e.dropped = append(e.dropped, c.OID)
	return nil
}

// removeFunctionName forgets under which name a function is found.
func (e *edit) removeFunctionName(oid types.OID) {
	old := e.s.functions[oid]
	if old == nil {
		return
	}
	names := writable(e, mapFunctionNames, &e.s.functionNames)
	key := QName{old.Schema, old.Name}
	list := slices.DeleteFunc(slices.Clone(names[key]), func(o types.OID) bool { return o == oid })
	if len(list) == 0 {
		delete(names, key)
		return
	}
	names[key] = list
}

// functionSet is a state's functions; an overloaded name has several.
type functionSet struct {
	functions     map[types.OID]*Function
	functionNames map[QName][]types.OID
}

// Function finds a user's function by OID; nil if there is none.
func (s functionSet) Function(oid types.OID) *Function { return s.functions[oid] }

// Functions lists all, by OID.
func (s functionSet) Functions() []*Function { return sorted(s.functions) }

// FunctionsNamed returns the overloads of a name in a schema, by OID.
func (s functionSet) FunctionsNamed(schema types.OID, name string) (out []*Function) {
	for _, oid := range s.functionNames[QName{schema, name}] {
		out = append(out, s.functions[oid])
	}
	return out
}
