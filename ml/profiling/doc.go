// Package profiling makes the profiles of training rows (exec/profile), and counts other rows by their bins. Both take
// the features as their encoders (ml/feature) make blocks of them, so that the rows of a training and those that are
// compared with them go the same way.
//
//	Drafter ─▶ Draft     on each node: what occurs in its blocks, merged by the reduce tree
//	           │ Profile
//	           ▼
//	     profile.Profile  bins of about the same number of rows; in the catalog with the model
//	           │ Binner
//	           ▼
//	     profile.Counts   how many rows of a data set lie in each bin
package profiling
