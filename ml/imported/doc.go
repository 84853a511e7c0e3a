// Package imported is the family of models that came from files of other systems: a shape
// (package shape) as it was read, with the encoders that the file's columns need. It predicts as the
// system predicts that wrote the file, is explained by TreeSHAP where it is trees and by its weights
// where it is linear, and cannot be trained.
//
// Tested by ml/interchange/formats.
package imported
