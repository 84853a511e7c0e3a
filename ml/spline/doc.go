// Package spline computes B-splines: for a number, the few of them that are not 0 there.
package spline
