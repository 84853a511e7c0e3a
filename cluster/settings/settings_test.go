package settings_test

import (
	"testing"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDefaults: the default of each setting is a valid value in canonical form, so that setting what
// SHOW prints changes nothing.
func TestDefaults(t *testing.T) {
	for _, d := range settings.All() {
		s := settings.NewSet()
		if d.Context == settings.Internal || settings.Find(d.Name) != d {
			continue
		}
		shown := d.Show(d.Default)
		if !d.OfSession() {
			_, got, err := settings.ForCluster(d.Name, shown)
			if err != nil && !(d.Context != settings.Sighup || pgerr.Is(err, pgerr.FeatureNotSupported)) || got != d.Default {
				t.Errorf("%s: %q became %q, %v", d.Name, shown, got, err)
			}
			if err := s.Set(d.Name, shown, false); !pgerr.Is(err, pgerr.CantChangeRuntimeParam) {
				t.Errorf("SET %s: %v", d.Name, err)
			}
			continue
		}
		if err := s.Set(d.Name, shown, false); err != nil {
			t.Errorf("%s = %q: %v", d.Name, shown, err)
			continue
		}
		if got := s.Value(d.Name); got != d.Default {
			t.Errorf("%s: %q became %q", d.Name, d.Default, got)
		}
	}
}

func TestValues(t *testing.T) {
	cases := []struct {
		name, value, want string
		code              pgerr.Code
	}{
		{"work_mem", "64MB", "64MB", ""},
		{"WORK_MEM", "65536", "64MB", ""},
		{"work_mem", "1.5GB", "1536MB", ""},
		{"work_mem", "lots", "", pgerr.InvalidParameterValue},
		{"statement_timeout", "2min", "2min", ""},
		{"statement_timeout", "90000", "90s", ""},
		{"statement_timeout", "-1", "", pgerr.InvalidParameterValue},
		{"extra_float_digits", "4", "", pgerr.InvalidParameterValue},
		{"default_transaction_read_only", "ye", "on", ""},
		{"default_transaction_read_only", "maybe", "", pgerr.InvalidParameterValue},
		{"client_min_messages", "WARNING", "warning", ""},
		{"client_min_messages", "loud", "", pgerr.InvalidParameterValue},
		{"DateStyle", "sql, dmy", "SQL, DMY", ""},
		{"DateStyle", "german", "German, DMY", ""},
		{"DateStyle", "ISO, ISO, dada", "", pgerr.InvalidParameterValue},
		{"TimeZone", "Europe/Berlin", "Europe/Berlin", ""},
		{"TimeZone", "Mars/Olympus", "", pgerr.InvalidParameterValue},
		{"client_encoding", "utf-8", "UTF8", ""},
		{"client_encoding", "euc-jp", "EUC_JP", ""},
		{"client_encoding", "Windows-1252", "WIN1252", ""},
		{"client_encoding", "EUC_TW", "", pgerr.FeatureNotSupported},
		{"client_encoding", "EBCDIC", "", pgerr.InvalidParameterValue},
		{"synchronous_commit", "off", "", pgerr.FeatureNotSupported},
		{"nosuch", "1", "", pgerr.UndefinedObject},
		{"my.custom", "anything", "anything", ""},
	}
	for _, c := range cases {
		s := settings.NewSet()
		err := s.Set(c.name, c.value, false)
		if pgerr.CodeOf(err) != c.code {
			t.Errorf("%s = %s: %v, want %q", c.name, c.value, err, c.code)
			continue
		}
		if err != nil {
			continue
		}
		got := s.Value(c.name)
		if d := settings.Find(c.name); d != nil {
			got = d.Show(got)
		}
		if got != c.want {
			t.Errorf("%s = %s shows %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestTransactions: SET LOCAL lasts to the end of the transaction; SET lasts longer if it commits.
func TestTransactions(t *testing.T) {
	s := settings.NewSet()
	var told []string
	s.OnChange = func(d *settings.Def, v string) { told = append(told, d.Name+"="+v) }
	set := func(value string, local bool) {
		t.Helper()
		if err := s.Set("application_name", value, local); err != nil {
			t.Fatal(err)
		}
	}
	was, changes := s.Value("application_name"), s.Changes()
	is := func(want string) {
		t.Helper()
		got := s.Value("application_name")
		if got != want {
			t.Fatalf("it is %q, want %q", got, want)
		}
		if got != was && s.Changes() == changes {
			t.Fatalf("it is %q, which was %q, and no change was counted", got, was)
		}
		was, changes = got, s.Changes()
	}
	if err := s.SetStart("application_name", "start", settings.FromClient); err != nil {
		t.Fatal(err)
	}
	s.Begin()
	set("session", false)
	set("local", true)
	is("local")
	s.End(true)
	is("session")

	s.Begin()
	set("lost", false)
	mark := s.Mark()
	set("more", false)
	s.RollbackTo(mark)
	is("lost")
	s.End(false)
	is("session")

	s.Begin()
	if err := s.Reset("application_name", false); err != nil {
		t.Fatal(err)
	}
	is("start")
	s.End(false)
	is("session")
	s.ResetAll()
	is("start")
	if told[len(told)-1] != "application_name=start" {
		t.Errorf("the last change told is %q", told[len(told)-1])
	}
}
