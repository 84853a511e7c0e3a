package session

import (
	"strings"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// init applies the role's and the client's settings.
func (s *Session) init(role *catalog.Role) error {
	s.doing.appName.Store("")
	s.set.SetInternal("session_authorization", role.Name)
	s.set.SetInternal("is_superuser", onOff(role.Super))
	s.set.SetInternal("ssl", onOff(s.start.Offered))
	s.set.Shared = s.registry.cfg.Shared
	st := s.registry.cfg.Catalog.Current()
	for _, v := range st.Settings() {
		if d := settings.Find(v.Name); d != nil && d.OfSession() {
			if err := s.set.SetStart(v.Name, v.Value); err != nil {
				return err
			}
		}
	}
	for _, d := range settings.All() {
		if v, ok := role.Settings[d.Name]; ok && d.OfSession() {
			if err := s.set.SetStart(d.Name, v); err != nil {
				return err
			}
		}
	}
	for _, p := range s.start.Params {
		name, value := p[0], p[1]
		switch {
		case name == "options":
			given, err := startupOptions(value)
			if err != nil {
				return err
			}
			for _, o := range given {
				if err := s.set.SetStart(o[0], o[1]); err != nil {
					return err
				}
			}
		case name == "replication":
			return pgerr.Unsupported("replication connections are not supported")
		case strings.HasPrefix(name, "_pq_."):
		default:
			if err := s.set.SetStart(name, value); err != nil {
				return err
			}
		}
	}
	s.set.OnChange = s.settingChanged
	s.doing.appName.Store(s.set.Value("application_name"))
	s.setCharset(s.set.Value("client_encoding"))
	s.refreshEnv()
	return nil
}

func (s *Session) settingChanged(d *settings.Def, v string) {
	switch d.Name {
	case "application_name":
		s.doing.appName.Store(v)
	case "client_encoding":
		s.setCharset(v)
	case "timezone", "datestyle", "intervalstyle", "extra_float_digits", "bytea_output":
		s.refreshEnv()
	}
	if d.Report && s.start.Notify != nil {
		s.start.Notify.Parameter(d.ShowName(), v)
	}
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
