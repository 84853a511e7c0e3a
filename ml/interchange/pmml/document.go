package pmml

import (
	"slices"
)

// document is a file that is being made.
type document struct {
	fields, derived markup   // the elements of DataDictionary and LocalTransformations
	taken           []string // names of fields
	inputs, finite  []string // the columns, and those in which infinities are missing
	computed        []string // the derived fields
	local           int      // where in the model's text the derived fields belong; 0 before its beginning is written
	dense           []string // the field of each of the encoders' numbers
	codes           []code
	nonZero         map[string]string // fields in which 0 is missing, by the field
	narrow          bool
}

// code is the field of a code's slots.
type code struct {
	field string
	slots int
}

// name returns a name that no other field has, and keeps it.
func (d *document) name(name string) string {
	for slices.Contains(d.taken, name) {
		name += "_"
	}
	d.taken = append(d.taken, name)
	return name
}

// derive adds a derived field and returns its name, which is that or begins so.
func (d *document) derive(name, kind, dataType string, e expression) string {
	name = d.name(name)
	d.derived.open("DerivedField", "name", name, "optype", kind, "dataType", dataType)
	e(&d.derived)
	d.derived.close("DerivedField")
	d.computed = append(d.computed, name)
	return name
}
