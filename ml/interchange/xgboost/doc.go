// Package xgboost reads and writes XGBoost's models as JSON (the schema of XGBoost 1.3 to 3.x): trees of
// gbtree and dart, with missing values and categories, in float32 as there.
//
// Tested by ml/interchange/formats.
package xgboost
