// Package jsonpath evaluates SQL/JSON paths over jsonb values. As in PostgreSQL
// 15 the lax mode unwraps arrays and forgives what is not there, the strict
// mode makes errors of both; predicates know true, false and unknown, which is
// also what an error within one is.
package jsonpath
