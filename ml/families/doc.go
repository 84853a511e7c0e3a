// Package families is the list of the families of models there are. A new one
// is a line here.
package families
