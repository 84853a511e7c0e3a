// Package bind turns a statement's tree into a logical plan: it resolves every
// name against a catalog.State, chooses every overload, makes every coercion
// explicit, and finds the errors that PostgreSQL finds in parse analysis, with
// its codes, texts and positions.
//
//	ast.Stmt + Session ──▶ plan.Query or plan.DML
//
//	bind    the entry points; INSERT, UPDATE, DELETE, MERGE; expressions of tables
//	model   predict, and relations made of a model and a query
//	query   SELECT, WITH, VALUES, set operations
//	scope   names in scope, and expressions over them
//	typing  overloads, coercions, literals, parameters
//
// Each imports only those below it.
//
// A column found in the scope of an enclosing query is simply that column: it is
// correlated, and planner/unnest removes that.
//
// The package does not optimise: it does not choose join orders, pushes nothing down and folds only
// what PostgreSQL folds while it parses (literals to their types, signs). It does no I/O and keeps
// no state between statements.
package bind
