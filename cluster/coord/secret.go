package coord

import (
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// secretWords are what CREATE SECRET takes.
const secretWords = "TYPE, PROVIDER, KEY_ID, SECRET, SESSION_TOKEN, REGION, ENDPOINT, URL_STYLE, USE_SSL, SCOPE"

// readSecret reads what CREATE SECRET says. Values are not shown in errors but where they cannot be secret.
func readSecret(n *parse.CreateSecret) (*catalog.Secret, object.Sealed, error) {
	x, v := &catalog.Secret{Name: n.Name, SSL: true}, object.Sealed{}
	seen := map[string]bool{}
	for _, o := range n.Options {
		bad := func(want string) error {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid value for %s of a secret", strings.ToUpper(o.Name)).At(o.Pos).WithHint("It must be %s.", want)
		}
		if seen[o.Name] {
			return nil, v, pgerr.New(pgerr.SyntaxError, "%s is given more than once", strings.ToUpper(o.Name)).At(o.Pos)
		}
		seen[o.Name] = true
		switch o.Name {
		case "type":
			if x.Type = strings.ToLower(o.Value); x.Type != "s3" {
				return nil, v, pgerr.Unsupported("secrets of type %q are not supported", o.Value).At(o.Pos).WithHint("There is s3.")
			}
		case "provider":
			if strings.ToLower(o.Value) != "config" {
				return nil, v, pgerr.Unsupported("secrets of provider %q are not supported", o.Value).At(o.Pos).
					WithHint("There is config. The credentials of the node's environment need no secret.")
			}
		case "key_id":
			x.KeyID = o.Value
		case "secret":
			v.Secret = o.Value
		case "session_token":
			v.Token = o.Value
		case "region":
			x.Region = o.Value
		case "endpoint":
			if x.Endpoint = o.Value; strings.ContainsAny(x.Endpoint, "@?# ") {
				return nil, v, bad("host:port, or http:// or https:// and that")
			}
		case "url_style":
			if x.URLStyle = strings.ToLower(o.Value); x.URLStyle != "path" && x.URLStyle != "vhost" {
				return nil, v, bad("path or vhost")
			}
		case "use_ssl":
			var err error
			if x.SSL, err = strconv.ParseBool(strings.ToLower(o.Value)); err != nil {
				return nil, v, bad("true or false")
			}
		case "scope":
			if x.Scope = o.Value; !strings.HasPrefix(x.Scope, object.S3) || object.Pattern(x.Scope) {
				return nil, v, bad("s3://, or s3://bucket and the beginning of keys, without * and ?")
			}
		default:
			return nil, v, pgerr.New(pgerr.InvalidParameterValue, "a secret has no %s", strings.ToUpper(o.Name)).At(o.Pos).WithHint("There are %s.", secretWords)
		}
	}
	switch {
	case x.Type == "":
		return nil, v, pgerr.New(pgerr.InvalidParameterValue, "a secret needs a TYPE").WithHint("Write CREATE SECRET name (TYPE s3, KEY_ID '…', SECRET '…').")
	case (x.KeyID == "") != (v.Secret == ""):
		return nil, v, pgerr.New(pgerr.InvalidParameterValue, "KEY_ID and SECRET belong together")
	}
	return x, v, nil
}

// createSecret handles CREATE SECRET. Only superusers may: a secret has the nodes connect to an address.
func createSecret(c *dispatcher, n *parse.CreateSecret) (*session.Command, error) {
	if n.OrReplace && n.IfNotExists {
		return nil, pgerr.New(pgerr.SyntaxError, "OR REPLACE and IF NOT EXISTS cannot be used together")
	}
	made, v, err := readSecret(n)
	if err != nil {
		return nil, err
	}
	return change("CREATE SECRET", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		if err := mayBackup(st, x.Caller.Role, "CREATE SECRET"); err != nil {
			return nil, err
		}
		s, old := *made, catalog.SecretNamed(st, n.Name)
		switch {
		case old == nil:
			if s.OID, err = c.oids.New(x.Ctx); err != nil {
				return nil, err
			}
			s.Owner = x.Caller.Role
		case n.OrReplace:
			s.OID, s.Owner, s.ACL = old.OID, old.Owner, old.ACL
		default:
			e := pgerr.New(pgerr.DuplicateObject, "secret %q already exists", n.Name)
			if !n.IfNotExists {
				return nil, e
			}
			c.s.Notice(pgerr.New(pgerr.DuplicateObject, "%s, skipping", e.Message).WithSeverity(pgerr.SevNotice))
			return nil, nil
		}
		s.CreatedAt = time.Now().UTC()
		if err := c.cfg.Keys.Seal(&s, v); err != nil {
			return nil, err
		}
		put := &catalog.PutSecret{Secret: &s}
		if old != nil {
			put.ExpectVersion = old.Version
		}
		return put, nil
	})
}

// dropSecret handles DROP SECRET.
func dropSecret(c *dispatcher, n *parse.DropSecret) (*session.Command, error) {
	return change("DROP SECRET", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		s := catalog.SecretNamed(st, n.Name)
		switch {
		case s == nil && n.IfExists:
			c.s.Notice(pgerr.New(pgerr.SuccessfulCompletion, "secret %q does not exist, skipping", n.Name).WithSeverity(pgerr.SevNotice))
			return nil, nil
		case s == nil:
			return nil, pgerr.New(pgerr.UndefinedObject, "secret %q does not exist", n.Name)
		case !st.Inherits(x.Caller.Role, s.Owner):
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of secret %s", n.Name)
		}
		return &catalog.DropSecret{OID: s.OID}, nil
	})
}
