// Package family is the contract between the training engine and families of models. A
// family is a value of type Family, made by its package; the engine (package train),
// the catalog, the binder and the manual read everything they need from it and refer to
// no family by name. The list of families is package families.
//
//	statement ─▶ Values ─▶ Family.Plan ─▶ Plan      what the family needs of rows
//	                                        │ the engine fits encoders and makes blocks
//	                                        ▼
//	root:  Driver  ── Step ──────────▶ every node's Worker
//	          ▲                          │ Pass.Add(block) … on all threads
//	          └── Partial ◀── Merge ─────┘ up the reduce tree
//	          │
//	          ▼  Predictor: bytes in the catalog, Score(block) at predict
//
// A Driver is a pure state machine with an ask-and-tell interface: it asks for a step,
// is told the sum of all blocks' partials, and so on until it is done; its state can be
// encoded, so that another node can continue from a checkpoint. Steps go down and
// partials go up as values on one node and encoded between nodes.
//
// What makes the model the same on any number of nodes is the Scope of partials. ByLeaf
// is for sums that depend on their order: each leaf, a set of rows determined by their
// content alone, has a partial, and partials are merged in the order of leaves. ByNode
// is for sums that do not, because they are of integers or exact: a node sums all its
// rows in any order, and sends one partial. Rows stay where they are then, unless there
// are mini-batches of them (Plan.Distributed).
//
// A family of sequences asks for windows (Plan.Windows): the engine distributes rows by
// partition, orders them within it and tells each block where its windows begin
// (block.Block.Windows). Everything that counts rows counts windows then: the limits
// of Rows, mini-batches, Setup.Rows and Held, Scores. A window's label and weight are
// those of its last row. Rows are encoded once, however many windows have them, and the
// encoders are fitted to the rows of the windows to train on.
//
// Memory: the engine charges what a Pass and its partial take, for each thread, by
// Worker.PassBytes; the Worker charges state per row through Node.Grow before it
// allocates it.
package family
