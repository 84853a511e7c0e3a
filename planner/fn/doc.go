// Package fn lists what may be called in SQL: scalar functions, operators, casts, aggregates,
// window and set-returning functions — their names, types and properties, not their
// implementations. The binder resolves names here, the evaluator (exec/eval) and the aggregates
// (exec/agg) have an implementation for each ID, and pg_proc is made of it.
//
//	name + argument types ──Resolve──▶ *Func ──Bind──▶ physical argument types,
//	                                                    result type
//
// Bind exists for what PostgreSQL's types do not determine: how numerics are represented
// (types.Type.Prec), and polymorphic results.
package fn
