package sysview

import "github.com/tributarydb/tributary/sql/catalog"

// clusterSchedules shows schedules; their statements and errors to who may change them.
func clusterSchedules(v *view, put put) error {
	for _, s := range catalog.Schedules(v.st) {
		state, statement, failed := "active", any(s.Statement), text(s.Error)
		switch {
		case s.Running:
			state = "running"
		case s.Paused:
			state = "paused"
		}
		if !v.reads(s.Owner) {
			if statement = Hidden; failed != nil {
				failed = Hidden
			}
		}
		var started, ended any
		if !s.Started.IsZero() {
			started = s.Started
		}
		if !s.Ended.IsZero() {
			ended = s.Ended
		}
		err := put(s.Name, v.roleName(s.Owner), s.Recurring, s.TimeZone, state, s.Next, s.Runs, started, ended, text(s.Code), failed, nodeName(v.st, s.Node), s.CreatedAt, statement)
		if err != nil {
			return err
		}
	}
	return nil
}
