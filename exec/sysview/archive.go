package sysview

import (
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
)

// archived is what the catalog has of the archive; zero if commits go to none, and went to none.
func archived(st *catalog.State) (a catalog.Archive) {
	if x := catalog.Archived(st); x != nil {
		a = *x
	}
	return a
}

// instant is a time of the catalog, in Unix µs; the zero time for 0.
func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// pgStatArchiver has one row, as PostgreSQL: its files of WAL are our files of commits.
func pgStatArchiver(v *view, put put) error {
	a := archived(v.st)
	return put(a.Logs, text(a.Log), instant(a.At), a.Failures, nil, instant(a.FailedAt), nil)
}

// clusterArchive has a row if commits go to an archive. Those who may not see everybody's statements do not see where it is.
func clusterArchive(v *view, put put) error {
	place, _ := v.st.Setting(catalog.SettingArchive)
	if place == "" {
		return nil
	}
	a := catalog.Archive{}
	if now := catalog.Archiving(v.st); now != nil {
		a = *now
	}
	state := "archiving"
	switch {
	case a.Error != "":
		state = "failing"
	case !a.Based:
		state = "starting"
	}
	behind, since := v.host.Archive()
	late := 0.0
	if !since.IsZero() {
		late = max(v.now().Sub(since).Seconds(), 0)
	}
	failed := text(a.Error)
	if !v.reads(catalog.BootstrapRoleOID) {
		if place = Hidden; failed != nil {
			failed = Hidden
		}
	}
	var version any
	if a.Based {
		version = a.Version
	}
	return put(place, state, version, instant(a.Micros), a.Logs, text(a.Log), instant(a.At), behind, late, a.Failures, instant(a.FailedAt), failed)
}
