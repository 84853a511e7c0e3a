package node

import (
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestRoleSettings: ALTER ROLE … SET checks names and values at once, as in PostgreSQL, not at the
// role's next login.
func TestRoleSettings(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("create role r")
	for sql, code := range map[string]pgerr.Code{
		"alter role r set nosuch = 1":                              pgerr.UndefinedObject,
		"alter role r reset nosuch":                                pgerr.UndefinedObject,
		"alter role r set statement_timeout = 'x'":                 pgerr.InvalidParameterValue,
		"alter role r set server_version = '1'":                    pgerr.CantChangeRuntimeParam,
		"alter role r set statement_timeout = '5s'":                "",
		"alter role r set nosuch.mine = 1":                         "",
		"alter role r set search_path = a, b":                      "",
		"alter role r set statement_timeout to default":            "",
		"alter role r reset nosuch.mine":                           "",
		"alter role r set default_transaction_isolation = 'other'": pgerr.InvalidParameterValue,
	} {
		if _, err := c.do(sql); pgerr.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
}
