// Package formats lists the formats of model files. A new format is a line here.
package formats
