// Package arrayfn implements the functions of arrays, which have one dimension.
package arrayfn
