// Package bind turns a statement's tree into a logical plan: it resolves every
// name against a catalog.State, chooses every overload, makes every coercion
// explicit, and finds the errors that PostgreSQL finds in parse analysis, with
// its codes, texts and positions.
//
//	ast.Stmt + Session ──▶ plan.Query or plan.DML
//
//	             ┌ names    scope → rel → column expression
//	expression ──┤ types    coerce.go, common.go, resolve.go (overloads)
//	             └ calls    aggregates, windows and set-returning functions
//	                        leave a fresh column behind, and are computed by
//	                        a node of the level that owns them
//
//	SELECT:  FROM ─▶ WHERE ─▶ [ProjectSet] ─▶ Aggregate ─▶ HAVING ─▶ Window…
//	         ─▶ ProjectSet… ─▶ Project ─▶ distinct ─▶ Sort ─▶ Limit
//
// A level is one SELECT (or DML statement) and owns the columns its FROM items
// emit; a scope is a set of FROM items in which names are looked up, with the
// scope of the enclosing query behind it. A column found in an outer scope is
// simply that column: it is correlated, and planner/opt removes it.
//
// The package decides nothing about speed: it makes no choice of join order,
// pushes nothing down and folds only what PostgreSQL folds while it parses
// (literals to their types, signs). It does no I/O and keeps no state between
// statements.
package bind
