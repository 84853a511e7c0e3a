// Package numbering numbers keys, such as categories and classes, in order of arrival.
package numbering
