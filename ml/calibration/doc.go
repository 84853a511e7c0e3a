// Package calibration is what stands between the scores of what was learnt and a model's predictions, for all
// families alike: probabilities that are as often right as they say (Platt 1999; Zadrozny and Elkan 2002), classes of
// the least expected cost (Elkan 2001), and intervals around numbers (split conformal prediction: Papadopoulos and
// others 2002; of folds: Vovk 2015).
//
//	rows that were not trained on ─▶ Scores ─▶ Tally     weights by score, sums that are exact
//	                                            │ Fit
//	                                            ▼
//	predictions:            Scores ─▶ Adjustment.Apply ─▶ Scores
package calibration
