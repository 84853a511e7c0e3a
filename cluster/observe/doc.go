// Package observe keeps what a node has seen: the statements that have ended and their counts, the
// last records of its log, events, tasks and transfers, and samples of its load of the last day. The
// relations of the schema cluster read it.
//
// All of it is bounded in number and in bytes, and charged to the node as idle memory (exec/mem):
// whoever needs the memory gets it, and the node then begins to keep things anew. What statements
// count they count in a Session of their own, whose lock nobody else takes but a reader and the
// node's clock; from there it is collected a few statements at a time.
package observe
