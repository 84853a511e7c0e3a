// Package plantest helps tests of the planner: a catalog whose statistics tests
// set, the TPC-H schema at scale factor 1, a folder of constants, an
// interpreter of plans that is slow and simple. It is for tests alone.
//
// Tested by planner/stage, planner/opt, planner/plan.
package plantest
