package catalog

// HasRowType reports whether the rows of a relation are a type, as those of tables and views.
func (r *Relation) HasRowType() bool {
	switch r.Kind {
	case KindTable, KindMatView, KindView, KindComposite:
		return true
	}
	return false
}
