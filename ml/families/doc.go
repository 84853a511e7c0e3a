// Package families is the registry of model families. A new family is a line here.
package families
