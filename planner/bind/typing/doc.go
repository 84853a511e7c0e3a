// Package typing determines the types of expressions by the rules of the chapter "Type Conversion"
// of PostgreSQL's manual: which overload an operator or a call means, which coercions are made,
// what a literal of unknown type and a parameter become, and what one type the branches of a CASE
// or a UNION get.
//
//	resolve.go   operators, candidates, polymorphic types  (parse_oper.c, func_select_candidate)
//	call.go      overloads of a function call              (parse_func.c)
//	coerce.go    coercions, common types                   (parse_coerce.c)
//	param.go     types of $1, $2, …                        (parse_param.c)
//	typename.go  types as they are written                 (parse_type.c)
//	position.go  where in the text an error is
//
// A Resolver knows where a text's names are looked up and nothing of tables,
// FROM clauses or scopes: its expressions are bound already.
//
// Tested by planner/bind (TestBind: types.txt, params.txt).
package typing
