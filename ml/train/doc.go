// Package train runs a training job: options, phases, the loop, and the part of
// a node in it. It moves no bytes between nodes: who does is given small
// interfaces.
//
//	options ──▶ Job ──▶ every node a Worker
//
//	deal      Worker.Add(batches of the query's rows on this node)
//	count     Worker.Counts ─▶ Σ ─▶ number of leaves, an owner for each
//	ship      Worker.TakeBucket ─▶ Worker.PutBucket of the owner; Worker.Assign
//	          ── from here on every step is a Task that runs on all leaves and
//	             whose partials the reduce tree merges: Reducer.Reduce
//	fit       statistics ─▶ encoders
//	seal      rows ─▶ blocks
//	iterate   θ ─▶ loss, gradient ─▶ optimiser ─▶ θ …       checkpoint every k
//	measure   θ ─▶ metrics
//	          ─▶ model bytes
//
// The reducer is all that is different between one process (Local) and a
// cluster. On a worker a task is a Part: it computes the worker's leaves, takes
// partials that other workers ship, and hands out what it must ship.
//
// The same rows and options give the same model, byte for byte, on any number
// of workers and threads, and also if the run was broken off and resumed from a
// checkpoint by another coordinator.
package train
