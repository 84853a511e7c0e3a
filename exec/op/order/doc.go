// Package order sorts rows, merges rows that are sorted, and holds the operators
// that read rows in order: LIMIT … WITH TIES and DISTINCT ON.
//
//	rows ─▶ rowset.Set ─▶ kernel.Keys, kernel.Order: the thread's rows in order
//	          │ memory refused                 │
//	          ▼                                ▼
//	        runs on disk ────────────────▶ merger (a loser tree) ─▶ thread 0
//	                                           ▲
//	        other threads, by channels ──────────┘
//
// Keys are byte strings that compare as ORDER BY wants (kernel.KeyEncoder).
// Where rows need to be together only by their first keys, as windows do, and
// memory holds them, they are divided into bins that fit a cache, and each thread sorts
// and gives some (split.go). With a limit a thread keeps about so many rows, and the
// threads tell each other from which key on rows are not needed.
//
// Memory: a thread charges its rows and keys; a refusal writes them as a run.
package order
