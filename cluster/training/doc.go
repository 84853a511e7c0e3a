// Package training runs TRAIN MODEL: from a statement to a version of a model in the
// catalog.
//
//	coord ─ Statement, query.Run ─▶ Jobs.Train
//	                                        │ plan: query, options, TRANSFORM
//	           within a transaction block   │   else
//	         ┌──────────────────────────────┴─────────────┐
//	         │ here and now, the model                    ▼
//	         │ goes into the transaction    catalog.Job: text and caller, durable
//	         │                                            │ the supervisor of the node it names
//	         ▼                                            ▼
//	       drive: attempts, each  Open → collect (the query, under plan.Collect) → Distribute → train.Run
//	                                                      │ checkpoints, progress: jobRecord
//	                                                      ▼
//	                                       the model and the job's end, one commit
//
// It does not depend on sessions. A statement runs for its session's caller (query.Caller). A job in
// the catalog runs for a caller restored from its record, and its statement is parsed again only on
// another node than that of its session (decision 0003).
package training
