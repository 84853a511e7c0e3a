// Package profile describes how the values of features are distributed, and compares two
// descriptions.
//
//	training rows ─▶ Profile   bins with the rows in each, kept beside the model
//	rows of now   ─▶ Counts    rows in the same bins, batch by batch
//	                  │
//	                  ▼
//	              Compare      PSI, Jensen-Shannon, Kolmogorov-Smirnov, chi²
//
// All sums are of whole rows, so a description does not depend on how rows are divided or in
// which order they come.
package profile
