// Package function defines what an implementation of a function is and its environment.
//
//	fn.Func.ID ──Table──▶ Maker(types of the arguments) ──▶ Impl(Call, columns) ──▶ column
//	                      when a program is compiled         a batch
//
// A Call is one evaluation: the context, the statement's environment (Env: types' settings,
// parameters, memory, and the Host, which is the node and session), the arena for results, and the
// rows that count. Functions that are rare are written over Go values or datums, one call a row,
// and adapted (Strict1 … Loose); set-returning ones return a Generator.
//
// The library is in the packages below it: textfn, mathfn, timefn, arrayfn, jsonfn, sysfn and
// setfn, with conversions in exec/cast and comparisons in exec/compare. builtin puts them in one
// table.
//
// Tested by exec/function/builtin, exec/eval.
package function
