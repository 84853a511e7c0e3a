package parse

// CreateResourceGroup is CREATE RESOURCE GROUP [IF NOT EXISTS] name [WITH (name = value, …)].
type CreateResourceGroup struct {
	Name        string
	IfNotExists bool
	Options     []Option
}

// AlterResourceGroup is ALTER RESOURCE GROUP name {SET (name = value, …) | RESET (name, …) | RENAME TO name}.
type AlterResourceGroup struct {
	Name     string
	Set      []Option
	Reset    []string
	RenameTo string
}

// DropResourceGroup is DROP RESOURCE GROUP [IF EXISTS] name.
type DropResourceGroup struct {
	Name     string
	IfExists bool
}

// RoleResourceGroup is ALTER {ROLE | USER} role RESOURCE GROUP {name | NONE}.
type RoleResourceGroup struct {
	Role  string // as spelled, current_user and the like too
	Group string // "" for NONE
}

// Tag implements Extension.
func (*CreateResourceGroup) Tag() string { return "CREATE RESOURCE GROUP" }
func (*AlterResourceGroup) Tag() string  { return "ALTER RESOURCE GROUP" }
func (*DropResourceGroup) Tag() string   { return "DROP RESOURCE GROUP" }
func (*RoleResourceGroup) Tag() string   { return "ALTER ROLE" }

func (*CreateResourceGroup) extension() {}
func (*AlterResourceGroup) extension()  {}
func (*DropResourceGroup) extension()   {}
func (*RoleResourceGroup) extension()   {}

// resourceGroup takes the statements of resource groups; nil if none is next.
func resourceGroup(c *cursor) Extension {
	switch {
	case c.accept("create", "resource", "group"):
		n := &CreateResourceGroup{}
		if c.accept("if") {
			c.expect("not", "exists")
			n.IfNotExists = true
		}
		n.Name = c.ident()
		if c.accept("with") {
			n.Options = c.options()
		}
		return n
	case c.accept("alter", "resource", "group"):
		n := &AlterResourceGroup{Name: c.ident()}
		switch {
		case c.accept("set"):
			n.Set = c.options()
		case c.accept("reset"):
			c.expectSelf('(')
			for more := true; more; more = c.acceptSelf(',') {
				n.Reset = append(n.Reset, c.ident())
			}
			c.expectSelf(')')
		default:
			c.expect("rename", "to")
			n.RenameTo = c.ident()
		}
		return n
	case c.accept("drop", "resource", "group"):
		n := &DropResourceGroup{IfExists: c.accept("if", "exists")}
		n.Name = c.ident()
		return n
	case (c.peek("alter", "role") || c.peek("alter", "user")) && c.i+5 < c.hi && c.s.IsWord(c.i+3, "resource") && c.s.IsWord(c.i+4, "group"):
		c.i += 2
		n := &RoleResourceGroup{Role: c.role()}
		c.expect("resource", "group")
		if !c.accept("none") {
			n.Group = c.ident()
		}
		return n
	}
	return nil
}
