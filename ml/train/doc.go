// Package train runs a training job: its phases, the loop, and the part of a node in
// it. It does not depend on any family of models: what is learnt, and how, is defined
// by package family. It moves no bytes between nodes itself: transport is behind small
// interfaces.
//
//	statement ──▶ Job ──▶ every node a Worker
//
//	collect     Worker.Add(batches of the query's rows on this node)
//	            ── from here on all is a Task that every worker runs, and whose partials the
//	               reduce tree merges: Reducer.Reduce
//	distribute  how many rows there are by bucket ─▶ an owner for each leaf ─▶ rows are sent
//	            (of a job in place each worker cuts its own rows into leaves)
//	draw        copies of rows ─▶ which are held out
//	fit         statistics ─▶ encoders
//	encode      rows ─▶ blocks (rows that do not fit: once encoders are fitted the query is
//	            read again, and what comes is encoded)
//	iterate     family.Driver.Next ─▶ step ─▶ partial ─▶ Driver.Tell …   checkpoint every k
//	measure     predictor ─▶ metrics
//	            ─▶ model bytes
//
// What rows are until they are blocks, and where they lie, is package rows' matter.
//
// Afterwards workers may leave their blocks to another training that would make the
// same blocks of the same rows: Worker.Leave, Take. That one begins with iterate.
//
// A step of a mini-batch names the rows of each leaf that it is of; only workers
// with leaves among them are asked, and its tree is over those. Leaves are cut
// into parts where the family says so (family.Plan.Grain).
//
// A partial is of a leaf, merged over leaf numbers, or of all of a node's
// leaves, merged over nodes: of a step as the family's scope says, of all tasks
// where the job is in place.
//
// The reducer is all that is different between one process (Local, in tests) and a
// cluster. On a worker a task is a Part: it computes the worker's leaves, takes
// partials that other workers ship, and hands out what it must ship. Within a process
// tasks and partials are values; only what is sent to another node is encoded. A long
// partial goes up in slices, each of which has its own homes in the tree; the first
// worker gets all sums.
//
// The same rows and options produce the same model, byte for byte, on any number of
// workers and threads, and also if the run was interrupted and resumed from a
// checkpoint by another coordinator.
package train
