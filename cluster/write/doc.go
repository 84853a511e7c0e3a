// Package write carries out what writes rows: INSERT, UPDATE, DELETE, MERGE, ON
// CONFLICT, the rows of COPY and of a query into a table, and the constraints of all
// of them.
//
//	Statement ─ Open(state) ─▶ Executor ─ Modify(plan.DML) ─▶ ModifyTable
//	   │                        │        many rows: plan.TableWrite, where they are
//	   │                        │        few, or in an order: op.RowWriter, here
//	   │                        │             new rows ─▶ segments   old rows ─▶ bitmaps
//	   │                        │                           └── apply ──┘
//	   │                        │              unique keys: plans over both, claims
//	   └─ CheckForeignKeys ◀────┴─ what foreign keys have to do with them
//
// The files, each above what it uses:
//
//	foreignaction  deferred  validate  locking           what runs statements, or looks at rows
//	modify                                               how a statement is carried out
//	conflict ─▶ conflictbulk, conflictchoice             … and an ON CONFLICT
//	keyedrow ─▶ inplace ─▶ foundkeys                     … and what finds few rows by their keys
//	conflictrows, bulk
//	modifytable                                          a statement in progress
//	apply                                                its changes put into the transaction
//	foreign ─▶ foreignkeys ─▶ unique ─▶ uniquedense ─▶ uniquekey
//	keyscan, run ─▶ txn ─▶ keywatch                      what all of them hold
//
// Constraints are checked by plans over the segments that the statement wrote, and what
// two transactions could each miss by claims in the commit (catalog.UniqueKeys).
// Nothing here knows a session: a statement brings its transaction (Txn), and a Host
// that is told what is going on.
package write
