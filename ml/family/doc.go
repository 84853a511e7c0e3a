// Package family is the contract between the training engine and families of
// models. A family is one package that makes one value, its Family; the engine
// (package train), the catalog, the binder and the manual read everything they
// need from it and know no family by name. The list of families is package
// families.
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
// A Driver is a pure step machine: it asks for a step, is told the sum of what
// all blocks made of it, and so on until it is done; its state is bytes, so that
// another node may go on from a checkpoint. Steps go down and partials go up as
// values on one node and as bytes between nodes.
//
// What makes the model the same on any number of nodes is the Scope of partials.
// ByLeaf is for sums that depend on their order: each leaf, a set of rows that
// their content alone decides, gives a partial, and partials are merged in the
// order of leaves. ByNode is for sums that do not, because they are of integers
// or exact: a node adds up all its rows in any order, and one partial a node
// travels. Rows stay where they are then, unless there are mini-batches of them
// (Plan.Distributed).
//
// A family of sequences asks for windows (Plan.Windows): the engine distributes rows by
// partition, orders them within it and tells each block where its windows begin
// (dataset.Block.Windows). All that counts rows counts windows then: the limits
// of Rows, mini-batches, Setup.Rows and Held, Scores. A window's label and weight
// are those of its last row. Rows are encoded once, however many windows have
// them, and the encoders are fitted to the rows of the windows to train on.
//
// Memory: what a Pass and its partial take is charged by the engine, for each
// thread, by Worker.PassBytes; state per row is charged by the Worker through
// Node.Grow before it is made.
package family
