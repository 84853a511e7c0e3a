// Package scope binds expressions: it resolves names among the FROM items in
// scope, and every form of expression over them.
//
//	Scope   FROM items in which names are looked up, the scope of the enclosing
//	        query behind it
//	Level   one SELECT or DML statement: the owner of the columns of its FROM
//	        items, and of aggregates, window calls and set-returning calls, which
//	        leave a column behind where they stand
//	Binder  one SQL text: the statement, or a view's, with the types of its
//	        expressions (package typing)
//
// What a statement reads is recorded for its privileges (uses.go). Subqueries, ml's functions and
// data-modifying WITH items are bound by packages above; a Nested holds the functions.
//
// Tested by planner/bind (TestBind: names.txt, from.txt, group.txt).
package scope
