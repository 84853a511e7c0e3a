// Package search decides which settings a search of hyperparameters tries next. It is
// pure: it draws from a seed and knows of trials only what it is told.
//
//	Next ──▶ a batch of trials ──▶ (trained elsewhere, in any order) ──▶ Tell ──▶ Next …
//
// What is decided after a batch depends on the losses of its trials alone, in the order
// of their numbers: not on how long they took, where they ran or which ended first. So
// a search is the same on any number of nodes, and one that is resumed is told again
// what is known and goes on as if nothing had happened.
//
// A trial is a point of a Space. Random draws points, grid takes all of them. Halving
// (successive halving as in ASHA, Li et al. 2020, with rungs that are decided when all
// of their trials have arrived) trains many trials a little and goes on with the best.
// TPE (Bergstra et al. 2011) draws where good trials are more frequent than others.
package search
