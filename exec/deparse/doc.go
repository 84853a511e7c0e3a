// Package deparse writes the queries and expressions that the catalog keeps as
// PostgreSQL prints them (its ruleutils.c): view definitions, defaults, conditions
// of constraints and indexes. Names are as the reader's search path wants them.
package deparse
