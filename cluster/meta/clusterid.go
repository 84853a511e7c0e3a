package meta

import "github.com/tributarydb/tributary/sql/catalog"

// ChangeClusterID changes the state's cluster id, outside of the log: for a cluster recovered
// from one node.
func (f *FSM) ChangeClusterID(id catalog.ClusterID) error {
	s := f.current.Load()
	next, err := s.Apply([]catalog.Change{&catalog.SetCluster{ID: id, Was: s.Cluster()}})
	if err == nil {
		f.current.Store(next)
	}
	return err
}
