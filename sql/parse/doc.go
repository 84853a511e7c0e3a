// Package parse turns the text of one query message into statements.
//
// The Postgres dialect is parsed by the multigres grammar; the MySQL dialect is
// translated into Postgres text (package mysql) and parsed as that; the statements that
// PostgreSQL lacks (TRAIN MODEL and the like) are recognised by their tokens here, and
// their inner query is parsed by the dialect's grammar. Parse resolves no names, types or
// functions: that is planner/bind.
//
//	text ──lex──▶ tokens ──split at ;──▶ pieces ──┬─ extension.go─▶ Extension
//	                 │                             ├─ multigres ──▶ ast.Stmt
//	                 │                             └─ package mysql ─▶ text ─▶ ast.Stmt
//	                 └──────── kept by each Statement: positions for errors
//
// The grammar's nodes carry no source positions, so each Statement keeps the
// tokens it was made from. From them come "syntax error at or near", which
// must match Postgres to the letter, and the Find methods, by which the binder
// says where an unknown column, function, type or operator stands.
//
// Some spellings are rewritten token by token before the grammar sees them
// (rewrite.go): ML.PREDICT(MODEL m, …) becomes ML.PREDICT('m', …). The text
// that the grammar sees is then another than the user's; a list of pieces maps
// every reported position back.
//
// Invariants: Parse never panics and never returns a partial list; every
// position is in characters from 1 in the text given to Parse; a tree is never
// deeper than lex.MaxDepth, so that recursive readers of it need no check.
package parse
