package query

import (
	"time"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// encoded is the durable form of a Caller. The role is not in it and must be stored beside it.
type encoded struct {
	User     types.OID
	Temp     types.OID
	Now      time.Time
	Settings []catalog.NamedText
	Types    []types.Type
	Params   []byte // packed datums
}

// forClients are settings that limit how long a client waits. They do not change what a statement means.
var forClients = map[string]bool{"statement_timeout": true, "lock_timeout": true, "idle_in_transaction_session_timeout": true, "idle_session_timeout": true}

// Encode returns the caller's durable form; set are the settings from which it was made.
func (c *Caller) Encode(set *settings.Set) []byte {
	e := encoded{User: c.SessionUser, Temp: c.Temp, Now: c.Values.Now, Types: c.ParamTypes, Params: codec.Marshal(c.Params)}
	e.Settings = Kept(set)
	return codec.Marshal(e)
}

// Kept are the settings of a session by which its statements run later, without it.
func Kept(set *settings.Set) (out []catalog.NamedText) {
	for _, v := range set.Changed() {
		if !forClients[v[0]] {
			out = append(out, catalog.NamedText{Name: v[0], Value: v[1]})
		}
	}
	return out
}

// Decode reads a durable form, for a statement of role. host makes the caller's host from its settings;
// shared returns the value of a setting that does not belong to a session.
func Decode(b []byte, role types.OID, shared func(*settings.Def) string, host func(*settings.Set) NamedHost) (*Caller, error) {
	e, err := codec.Unmarshal[encoded](b)
	if err != nil {
		return nil, err
	}
	set := settings.NewSet()
	set.Shared = shared
	for _, v := range e.Settings {
		if err := set.SetStart(v.Name, v.Value, settings.FromCatalog); err != nil {
			return nil, err
		}
	}
	params, err := codec.Unmarshal[[]types.Datum](e.Params)
	if err != nil {
		return nil, err
	}
	h := host(set)
	return NewCaller(Identity{Role: role, SessionUser: e.User, Temp: e.Temp}, set, Values(set, h), e.Now, h).With(params, e.Types), nil
}
