// Package exact adds floating-point numbers so that the sum does not depend on
// their order: not on threads, batches, spills or nodes.
package exact
