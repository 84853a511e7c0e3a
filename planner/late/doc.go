// Package late has the rules that compute something later, for fewer rows: grouping expressions for each group
// instead of each row, expressions of a result for the first rows of a sort, least and greatest values for none.
//
// Tested by planner/late/late_test.go, cluster/node/testdata/corpus/zone_values.slt, cluster/node/testdata/corpus/first_rows.slt.
package late
