// Package opt rewrites a bound plan into one that runs well and means the
// same. It knows statistics and the catalog's promises (keys, NOT NULL), not
// how many nodes there are: planner/stage places the plan on nodes.
//
//	bind ─▶ fold ─▶ subqueries ─▶ decorrelate ─▶ distinct ─▶ pushdown … ─▶ joinorder
//	                (to Apply)    (to Join)                  (several)         │
//	stage ◀─ narrow ◀─ prune ◀─ joinkeys ◀─ limits ◀───────────────────────────┘
//
// A rule is a function of the whole tree with a name; phases.go lists them in order and says why
// the order is so. Trees are immutable, so a rule that changes nothing returns the node it got.
//
// What every rule may rely on and must keep:
//   - a column keeps its ColID as long as it keeps its value; new values get
//     new ids from Env.NextCol, and a subtree used twice gets new ids in its copy;
//   - columns are found by id, so inputs of joins may be swapped. Only SetOp,
//     RecursiveUnion, TableWrite and buffers count columns by position, and
//     rules put a Project there when they change the order;
//   - volatile expressions are neither copied nor moved below anything that
//     changes how often they run;
//   - the order of conjuncts within one Filter is kept: the first may guard the
//     second (x <> 0 AND 1/x > 2).
//
// After opt no Apply and no Subquery is left, and each Join has its equalities
// in LKeys and RKeys. Validate checks all of this and tests run it after
// every rule.
package opt
