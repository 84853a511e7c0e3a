// Package cox is the family cox_regression: Cox's model of proportional hazards as statisticians use
// it, in float64, with standard errors, strata, and rows that are at risk from a time on (entry), of
// which a subject may have several (time-varying features).
//
// A row is at risk at the times of its stratum's events that are after its entry and not after its
// end. Events are numbered by stratum and time; a row is added to the sums at its last event and
// taken off those at the last before its entry, so that the sums over the rows at risk are sums from
// behind:
//
//	times     events of all rows                        ─▶ their numbers
//	risks     Σ e^xβ and Σ e^xβ·x by number             ─▶ log likelihood, gradient, hazards,
//	                                                       a part of the Hessian
//	curvature Σ hazard·e^xβ·x·xᵀ over rows              ─▶ the rest of it, and Newton's step
//	pairs     durations beside risks                    ─▶ the concordance
//
// Rows are dealt to leaves by their contents and sums are merged in the order of leaves, so the model
// is the same on any nodes.
//
// Sources: Cox, "Regression models and life-tables" (1972); Efron (1977) and Breslow (1974) for ties;
// Therneau and Grambsch, "Modeling survival data" (2000), for entry times and strata.
package cox
