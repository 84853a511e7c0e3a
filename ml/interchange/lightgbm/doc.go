// Package lightgbm reads and writes LightGBM's models as text (versions 3 and 4): boosted trees and random
// forests, with missing values and categories, pandas' names of which stand at the end.
//
// Tested by ml/interchange/formats.
package lightgbm
