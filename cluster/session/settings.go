package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// init applies the cluster's, the role's and the client's settings.
func (s *Session) init(role *catalog.Role) error {
	s.doing.appName.Store("")
	s.set.SetInternal("ssl", onOff(s.start.Offered))
	if role.Super {
		s.set.SetInternal("data_directory", s.registry.cfg.Data)
	}
	s.set.Shared = s.registry.cfg.Shared
	s.set.Check, s.set.OnChange = s.checkSetting, s.settingChanged
	if err := s.set.SetStart("session_authorization", role.Name, settings.FromCatalog); err != nil {
		return err
	}
	for _, v := range s.registry.cfg.Catalog.Current().Settings() {
		if d := settings.Find(v.Name); d != nil && d.OfSession() {
			if err := s.set.SetStart(v.Name, v.Value, settings.FromCatalog); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(role.Settings)) {
		// As in PostgreSQL: a value that does not fit any more must not lock the role out.
		if err := s.set.SetStart(name, role.Settings[name], settings.FromCatalog); err != nil {
			s.Notice(pgerr.From(err).WithSeverity(pgerr.SevWarning))
		}
	}
	for _, p := range s.start.Params {
		name, value := p[0], p[1]
		given := [][2]string{{name, value}}
		switch {
		case name == "options":
			var err error
			if given, err = startupOptions(value); err != nil {
				return err
			}
		case name == "replication":
			return pgerr.Unsupported("replication connections are not supported")
		case strings.HasPrefix(name, "_pq_."):
			continue
		}
		for _, o := range given {
			if err := s.set.SetStart(o[0], o[1], settings.FromStartup); err != nil {
				return err
			}
		}
	}
	s.doing.appName.Store(s.set.Value("application_name"))
	s.setCharset(s.set.Value("client_encoding"))
	s.refreshEnv()
	s.startTxnSettings()
	s.connected = true
	return nil
}

// refreshEnv makes the environment of values anew; statements keep the one
// they began with.
func (s *Session) refreshEnv() {
	s.env = query.Values(s.set, regNames{s})
}

func (s *Session) setCharset(name string) { s.charset, _, _, _ = charset.Find(name) }

// Charset is the client's encoding, nil for UTF8.
func (s *Session) Charset() *charset.Charset { return s.charset }

// Env is how values are written as text now.
func (s *Session) Env() *types.Env { return s.env }

// Parameters are the values to report when a connection starts.
func (s *Session) Parameters() [][2]string {
	var out [][2]string
	for _, d := range settings.All() {
		if d.Report {
			out = append(out, [2]string{d.ShowName(), s.set.Value(d.Name)})
		}
	}
	return out
}

// Settings are its run-time parameters.
func (s *Session) Settings() *settings.Set { return s.set }

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
