package typing

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// Names is where the names of a statement's text are looked up, and for which role.
type Names struct {
	State *catalog.State
	// SearchPath lists schema names, "$user" already resolved. pg_catalog comes
	// before them unless it is among them.
	SearchPath []string
	TempSchema types.OID // the session's schema of temporary tables; 0 while it has none
	Role       types.OID
	// Trusted: the text is the engine's own, which needs no privileges.
	Trusted bool
}

// Resolver determines the types of the expressions of one SQL text. The text of a view or of a default has a
// resolver of its own, with its own search path and without positions. All resolvers of a statement share its
// parameters.
type Resolver struct {
	*Names
	Env    *types.Env // reads the literals
	Path   []string
	Text   *parse.Statement
	View   *catalog.Relation // whose text it is; nil for any other text
	Plain  bool              // parameters are not allowed
	params *params
}

// params are a statement's parameters.
type params struct {
	types   []types.Type
	unknown map[int][]*expr.Param // those whose type is not known yet
}

// NewResolver makes the resolver of a statement's text. Its parameters have the given types; OID 0 means that
// the type is inferred. With plain, parameters are not allowed.
func NewResolver(names *Names, env *types.Env, text *parse.Statement, given []types.Type, plain bool) Resolver {
	return Resolver{Names: names, Env: env, Path: names.SearchPath, Text: text, Plain: plain,
		params: &params{append([]types.Type(nil), given...), map[int][]*expr.Param{}}}
}
