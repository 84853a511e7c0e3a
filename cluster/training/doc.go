// Package training runs TRAIN MODEL: from a statement in its context to a version
// of a model in the catalog.
//
//	coord ─ Statement, query.Execution ─▶ Jobs.Train
//	                                        │ plan: query, options, TRANSFORM
//	           within a transaction block   │   else
//	         ┌──────────────────────────────┴─────────────┐
//	         │ here and now, the model                    ▼
//	         │ goes into the transaction    catalog.Job: text and context, durable
//	         │                                            │ the supervisor of the node it names
//	         ▼                                            ▼
//	       drive: attempts, each  Open → collect (the query, under plan.Collect) → Distribute → train.Run
//	                                                      │ checkpoints, progress: record
//	                                                      ▼
//	                                       the model and the job's end, one commit
//
// It knows no session. Whoever runs a statement gives its context (package query);
// a job makes its own of the record, and reads the statement's text again only
// where another process read it (decision 0003).
package training
