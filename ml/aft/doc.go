// Package aft implements accelerated failure time models (Kalbfleisch and Prentice, The Statistical Analysis of Failure
// Time Data, 2nd edition, 3.6): the logarithm of a duration is a linear function of the features plus a multiple, the
// scale, of a noise whose distribution is known. Rows may be observed only until their duration.
//
//	log T = xβ + intercept + scale·ε      z = (log t - xβ - intercept) / scale
//	weibull      ε of the least extreme value   S = exp(-e^z)
//	lognormal    ε normal                       S = 1 - Φ(z)
//	loglogistic  ε logistic                     S = 1 / (1 + e^z)
//
// The likelihood is concave in β/scale, intercept/scale and 1/scale (Burridge 1981), by which Newton's method goes to
// its only maximum. Each iteration reads the rows once or twice: value and gradient with the Hessian. Sums are by leaf,
// in the order of leaves.
package aft
