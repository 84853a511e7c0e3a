package coord

import (
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// groupOption is an option of a resource group: a number, of a unit of settings if there is one.
type groupOption struct {
	name      string
	unit      string
	min, most int64
	otherwise int64
	field     func(*catalog.ResourceGroup) *int64
}

const (
	leastGroupMemory = 16 << 20 // a thread of a statement that keeps rows needs 10 MiB
	mostMillis       = 1<<31 - 1
)

var groupOptions = []groupOption{
	{"memory_limit", "B", leastGroupMemory, 1 << 50, 0, func(g *catalog.ResourceGroup) *int64 { return &g.Memory }},
	{"cpu_threads", "", 1, 1024, 0, func(g *catalog.ResourceGroup) *int64 { return &g.Threads }},
	{"concurrency", "", 1, 1 << 20, 0, func(g *catalog.ResourceGroup) *int64 { return &g.Concurrency }},
	{"queue", "", 0, 1 << 20, -1, func(g *catalog.ResourceGroup) *int64 { return &g.Queue }},
	{"statement_rate", "", 1, 1 << 20, 0, func(g *catalog.ResourceGroup) *int64 { return &g.Rate }},
	{"statement_timeout", "ms", 1, mostMillis, 0, func(g *catalog.ResourceGroup) *int64 { return &g.StatementTimeout }},
	{"idle_session_timeout", "ms", 1, mostMillis, 0, func(g *catalog.ResourceGroup) *int64 { return &g.IdleTimeout }},
	{"idle_in_transaction_session_timeout", "ms", 1, mostMillis, 0, func(g *catalog.ResourceGroup) *int64 { return &g.IdleInTransaction }},
}

// trainingPriority is the one option that is a word.
const trainingPriority = "training_priority"

func unknownGroupOption(name string, pos int) error {
	var names []string
	for _, o := range groupOptions {
		names = append(names, o.name)
	}
	return pgerr.New(pgerr.InvalidParameterValue, "a resource group has no option %q", name).At(pos).WithHint("There are %s and %s.", strings.Join(names, ", "), trainingPriority)
}

// setGroupOptions sets options of a group.
func setGroupOptions(g *catalog.ResourceGroup, list []parse.Option) error {
	for _, given := range list {
		v := parse.ConstText(given.Value)
		bad := func(hint string, args ...any) error {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option %q of a resource group: %q", given.Name, v).At(given.Pos).WithHint(hint, args...)
		}
		if given.Name == trainingPriority {
			switch strings.ToLower(v) {
			case "normal", "low":
				g.LowTraining = strings.EqualFold(v, "low")
			default:
				return bad("It is normal or low.")
			}
			continue
		}
		o := findGroupOption(given.Name)
		if o == nil {
			return unknownGroupOption(given.Name, given.Pos)
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if o.unit != "" {
			n, err = settings.Amount(v, o.unit)
		}
		switch {
		case err != nil && o.unit == "B":
			return bad("Write a size, such as 1GB.")
		case err != nil && o.unit != "":
			return bad("Write a time, such as 30s.")
		case err != nil:
			return bad("Write a number.")
		case n != o.otherwise && (n < o.min || n > o.most):
			return bad("It is from %s to %s; RESET takes the limit away.", settings.Shown(o.min, o.unit), settings.Shown(o.most, o.unit))
		}
		*o.field(g) = n
	}
	return nil
}

func findGroupOption(name string) *groupOption {
	for i := range groupOptions {
		if groupOptions[i].name == name {
			return &groupOptions[i]
		}
	}
	return nil
}

func groupNamed(st *catalog.State, name string) (*catalog.ResourceGroup, error) {
	if g := catalog.ResourceGroupNamed(st, name); g != nil {
		return g, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "resource group %q does not exist", name)
}

// skipping tells the client that a statement with IF [NOT] EXISTS has nothing to do.
func skipping(c *dispatcher, code pgerr.Code, format string, args ...any) {
	c.s.Notice(pgerr.New(code, format+", skipping", args...).WithSeverity(pgerr.SevNotice))
}

// createResourceGroup handles CREATE RESOURCE GROUP.
func createResourceGroup(c *dispatcher, n *parse.CreateResourceGroup) (*session.Command, error) {
	made := catalog.ResourceGroup{Name: n.Name, Queue: -1}
	if n.Name == "none" {
		return nil, pgerr.New(pgerr.ReservedName, "resource group name %q is reserved", n.Name)
	}
	if err := setGroupOptions(&made, n.Options); err != nil {
		return nil, err
	}
	return change("CREATE RESOURCE GROUP", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		if err := mayBackup(st, x.Caller.Role, "create resource groups"); err != nil {
			return nil, err
		}
		if catalog.ResourceGroupNamed(st, n.Name) != nil {
			if n.IfNotExists {
				skipping(c, pgerr.DuplicateObject, "resource group %q already exists", n.Name)
				return nil, nil
			}
			return nil, pgerr.New(pgerr.DuplicateObject, "resource group %q already exists", n.Name)
		}
		g := made
		var err error
		if g.OID, err = c.oids.New(x.Ctx); err != nil {
			return nil, err
		}
		g.CreatedAt = time.Now().UTC()
		return &catalog.PutResourceGroup{Group: &g}, nil
	})
}

// alterResourceGroup handles ALTER RESOURCE GROUP. All nodes heed the new limits as they learn of them.
func alterResourceGroup(n *parse.AlterResourceGroup) (*session.Command, error) {
	if n.RenameTo == "none" {
		return nil, pgerr.New(pgerr.ReservedName, "resource group name %q is reserved", n.RenameTo)
	}
	return change("ALTER RESOURCE GROUP", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		if err := mayBackup(st, x.Caller.Role, "alter resource groups"); err != nil {
			return nil, err
		}
		old, err := groupNamed(st, n.Name)
		if err != nil {
			return nil, err
		}
		g := *old
		if err := setGroupOptions(&g, n.Set); err != nil {
			return nil, err
		}
		for _, name := range n.Reset {
			if name == trainingPriority {
				g.LowTraining = false
				continue
			}
			o := findGroupOption(name)
			if o == nil {
				return nil, unknownGroupOption(name, 0)
			}
			*o.field(&g) = o.otherwise
		}
		if n.RenameTo != "" {
			if catalog.ResourceGroupNamed(st, n.RenameTo) != nil {
				return nil, pgerr.New(pgerr.DuplicateObject, "resource group %q already exists", n.RenameTo)
			}
			g.Name = n.RenameTo
		}
		return &catalog.PutResourceGroup{Group: &g, ExpectVersion: old.Version}, nil
	})
}

// dropResourceGroup handles DROP RESOURCE GROUP.
func dropResourceGroup(c *dispatcher, n *parse.DropResourceGroup) (*session.Command, error) {
	return change("DROP RESOURCE GROUP", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		if err := mayBackup(st, x.Caller.Role, "drop resource groups"); err != nil {
			return nil, err
		}
		g, err := groupNamed(st, n.Name)
		if err != nil {
			if n.IfExists {
				skipping(c, pgerr.SuccessfulCompletion, "resource group %q does not exist", n.Name)
				return nil, nil
			}
			return nil, err
		}
		var held []string
		for _, r := range st.Roles() {
			if r.ResourceGroup == g.OID {
				held = append(held, "role "+r.Name+" is in it")
			}
		}
		if len(held) > 0 {
			return nil, pgerr.New(pgerr.DependentObjectsStillExist, "resource group %q cannot be dropped because some objects depend on it", g.Name).
				WithDetail("%s", strings.Join(held, "\n")).WithHint("Write ALTER ROLE … RESOURCE GROUP NONE.")
		}
		return &catalog.DropResourceGroup{OID: g.OID}, nil
	})
}

// roleResourceGroup handles ALTER ROLE … RESOURCE GROUP.
func roleResourceGroup(n *parse.RoleResourceGroup) (*session.Command, error) {
	return change("ALTER ROLE", func(x *session.Execution, st *catalog.State) (catalog.Change, error) {
		if err := mayBackup(st, x.Caller.Role, "set a role's resource group"); err != nil {
			return nil, err
		}
		var r *catalog.Role
		switch n.Role {
		case "current_user", "current_role":
			r = st.Role(x.Caller.Role)
		case "session_user":
			r = st.Role(x.Caller.SessionUser)
		default:
			r = st.RoleByName(n.Role)
		}
		switch {
		case r == nil:
			return nil, pgerr.New(pgerr.UndefinedObject, "role %q does not exist", n.Role)
		case strings.HasPrefix(r.Name, "pg_"):
			return nil, pgerr.New(pgerr.ReservedName, "role name %q is reserved", r.Name).WithDetail("Cannot alter reserved roles.")
		}
		up := *r
		up.ResourceGroup = 0
		if n.Group != "" {
			g, err := groupNamed(st, n.Group)
			if err != nil {
				return nil, err
			}
			up.ResourceGroup = g.OID
		}
		return &catalog.PutRole{Role: &up}, nil
	})
}
