// Package parse turns the text of one query message into statements.
//
// It is the only package that knows the grammars. The Postgres dialect is
// parsed by the multigres grammar, the MySQL dialect by Vitess, whose tree is
// translated node by node into the same multigres AST and never leaves this
// package; the statements of our own (TRAIN MODEL and its kin) are cut by
// their tokens here and hand their inner query to the dialect's grammar. It
// does not resolve names, types or functions: that is planner/bind.
//
//	text ──scan──▶ tokens ──split at ;──▶ pieces ──┬─ own.go ─────▶ Own
//	                 │                             ├─ multigres ──▶ ast.Stmt
//	                 │                             └─ Vitess ─ mysql_*.go ─▶ ast.Stmt
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
// deeper than maxDepth, so that recursive readers of it need no check.
package parse
