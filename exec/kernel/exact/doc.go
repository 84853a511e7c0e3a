// Package exact adds floating-point numbers so that the sum does not depend on
// their order: not on lanes, batches, spills or nodes.
package exact
