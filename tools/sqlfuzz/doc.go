// Command sqlfuzz looks for wrong answers with random statements. A round makes a
// schema with data from a seed, then queries and writes over it, typed so that most are
// valid; rounds run concurrently, each on its own connections, and read-only statements
// are sent in batches. The expected answers come from a peer, a PostgreSQL that gets
// the same statements, or without one from the server itself: the rows of p, NOT p and
// p IS NULL are all rows (TLP), a count of rows is the sum of its predicate as a column
// (NoREC), and settings that only change how a query is run leave its result alone. An
// internal error or a lost connection is a failure anywhere.
//
// A profile says what the statements are made of: general ones, any that the grammar
// has, or edges, which look where faults were found before: operators that spill over
// tables of several segments, duplicates around set operations, transactions within one
// message, escapes and encodings, keys below zero and long ago, WITH that writes, and
// trainings over columns that hardly say anything.
//
// A failing statement is reduced as long as it fails the same way, and written as a
// case with the set-up it needs. Nothing here depends on the engine: a server is an
// address.
package main
