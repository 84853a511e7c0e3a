package function

import (
	"context"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// NoSession is embedded by hosts without a session: calls that would change one are errors. Where
// completes their message: "nextval cannot be called " + Where.
type NoSession struct{ Where string }

func (n NoSession) refuse(what string) error {
	return pgerr.Unsupported("%s cannot be called %s", what, n.Where)
}

// Set implements Host.
func (n NoSession) Set(string, *string, bool) (string, error) { return "", n.refuse("set_config") }

// Nextval implements Host.
func (n NoSession) Nextval(context.Context, types.OID, []int64) error { return n.refuse("nextval") }

// Currval implements Host.
func (n NoSession) Currval(types.OID) (int64, error) { return 0, n.refuse("currval") }

// Lastval implements Host.
func (n NoSession) Lastval() (int64, error) { return 0, n.refuse("lastval") }

// Setval implements Host.
func (n NoSession) Setval(context.Context, types.OID, int64, bool) error { return n.refuse("setval") }
