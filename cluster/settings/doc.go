// Package settings holds the run-time parameters of a session (SET, SHOW,
// pg_settings): their names, defaults, units and rules.
//
//	compiled default ← cluster setting ← role's setting ← connection ← SET ← SET LOCAL
//
// A Set is one session's values as a stack of layers that transactions push
// and pop. The package knows nothing of what a setting does.
package settings
