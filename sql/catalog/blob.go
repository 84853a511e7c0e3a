package catalog

import "iter"

// InlineBlob is the size up to which a model or a checkpoint is stored in the catalog; larger ones
// are files like those of segments.
const InlineBlob = 64 << 10

// HeldFile is a file that the catalog names.
type HeldFile struct {
	File *Segment // of a blob its ID, Bytes (0: not known), SHA256 and Nodes
	// Held returns the change that records which nodes have it.
	Held func(nodes []uint64) Change
	// Lasting: it belongs to a table that is not temporary, or to a model. Archives have these.
	Lasting bool
}

// HeldFiles lists all files of a state that nodes hold for it, in a fixed order.
func HeldFiles(s *State) (out []HeldFile) {
	for _, rel := range s.Relations() {
		m := s.Manifest(rel.OID)
		if m == nil {
			continue
		}
		for _, p := range m.Partitions {
			for _, g := range p {
				if g.Inline == nil {
					table, id := rel.OID, g.ID
					out = append(out, HeldFile{g, func(n []uint64) Change { return &SetNodes{Table: table, Segment: id, Nodes: n} }, !rel.Temp})
				}
			}
		}
	}
	return append(out, s.BlobFiles()...)
}

// BlobFiles lists, in a fixed order, the files that do not belong to tables: those of models, and of jobs
// that may continue.
func (s *State) BlobFiles() (out []HeldFile) {
	for _, m := range s.Models() {
		for i := range m.Versions {
			if v := &m.Versions[i]; !v.File.IsZero() {
				oid, number := m.OID, v.Number
				out = append(out, HeldFile{v.Blob(), func(n []uint64) Change { return &SetModelNodes{Model: oid, Number: number, Nodes: n} }, true})
			}
		}
	}
	for _, j := range s.Jobs() {
		// A failed job may be resumed.
		if j.State != JobDone && !j.CheckpointFile.IsZero() {
			oid, id := j.OID, j.CheckpointFile
			out = append(out, HeldFile{j.Blob(), func(n []uint64) Change { return &SetJobNodes{Job: oid, File: id, Nodes: n} }, false})
		}
	}
	return out
}

// FilesOf lists, in a fixed order, the files that a state needs: those of tables, of models and of jobs that may
// continue. A file may come twice.
func FilesOf(s *State) iter.Seq[*Segment] {
	return func(yield func(*Segment) bool) {
		manifest := func(m *Manifest) bool {
			for _, p := range m.Partitions {
				for _, g := range p {
					if g.Inline == nil && !yield(g) {
						return false
					}
				}
			}
			return true
		}
		for _, m := range sorted(s.manifests) {
			if !manifest(m) {
				return
			}
		}
		for _, f := range s.BlobFiles() {
			if !yield(f.File) {
				return
			}
		}
		for _, j := range s.Jobs() {
			if j.State == JobDone { // one that failed may be resumed
				continue
			}
			for _, m := range j.Reads {
				if !manifest(m) {
					return
				}
			}
		}
	}
}

// Files returns the files that changes add to the catalog.
func Files(changes []Change) (out []*Segment) {
	add := func(g *Segment) {
		if g.Inline == nil {
			out = append(out, g)
		}
	}
	versions := func(m *Model) {
		for i := range m.Versions {
			add(m.Versions[i].Blob())
		}
	}
	for _, c := range changes {
		switch c := c.(type) {
		case *AppendSegments:
			for _, g := range c.Segments {
				add(g)
			}
		case *PutModel:
			versions(c.Model)
		case *ChangeModel:
			versions(c.Model)
		}
	}
	return out
}
