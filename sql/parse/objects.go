package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"
)

// Defines reports whether the statement changes definitions, privileges, roles, models or the
// cluster itself. The statements that do not (reading and writing rows, controlling the session)
// are listed, so that one which was forgotten counts as defining.
func (s *Statement) Defines() bool {
	if s.Extension != nil {
		switch s.Extension.(type) {
		case *Explain, *ShowModels, *ShowSchedules, *ShowBackups, *DescribeModel, *ExportModel, *NoEffect:
			return false
		}
		return true
	}
	switch n := s.Node.(type) {
	case *ast.SelectStmt:
		return leftmost(n).IntoClause != nil
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt, *ast.CopyStmt, *ast.ExplainStmt, *ast.LockStmt,
		*ast.TransactionStmt, *ast.VariableSetStmt, *ast.VariableShowStmt, *ast.DiscardStmt, *ast.ConstraintsSetStmt,
		*ast.PrepareStmt, *ast.ExecuteStmt, *ast.DeallocateStmt, *ast.DeclareCursorStmt, *ast.FetchStmt, *ast.ClosePortalStmt,
		*ast.VacuumStmt, *ast.CheckPointStmt, *ast.ListenStmt, *ast.UnlistenStmt, *ast.NotifyStmt, *ast.DoStmt, *ast.CallStmt, nil:
		return false
	}
	return true
}

// Objects returns the names of the objects that a DDL statement is about, as it spells them, and
// the roles that it grants something to or revokes it from. They are identifiers only: nothing of a
// statement's values is among them.
func (s *Statement) Objects() (objects, roles []string) {
	if s.Extension != nil {
		return extensionObjects(s.Extension), nil
	}
	var about, to []ast.Node
	rel := func(rv *ast.RangeVar) {
		if rv != nil {
			about = append(about, rv)
		}
	}
	list := func(out *[]ast.Node, l *ast.NodeList) {
		if l != nil {
			*out = append(*out, l.Items...)
		}
	}
	name := func(names ...string) {
		for _, n := range names {
			if n != "" {
				objects = append(objects, n)
			}
		}
	}
	role := func(r *ast.RoleSpec) {
		if r != nil {
			to = append(to, r)
		}
	}
	into := func(c *ast.IntoClause) {
		if c != nil {
			rel(c.Rel)
		}
	}
	switch n := s.Node.(type) {
	case *ast.CreateSchemaStmt:
		name(n.Schemaname)
		role(n.Authrole)
	case *ast.CreateStmt:
		rel(n.Relation)
	case *ast.SelectStmt:
		into(leftmost(n).IntoClause)
	case *ast.CreateTableAsStmt:
		into(n.Into)
	case *ast.RefreshMatViewStmt:
		rel(n.Relation)
	case *ast.IndexStmt:
		name(n.Idxname)
		rel(n.Relation)
	case *ast.ViewStmt:
		rel(n.View)
	case *ast.CreateSeqStmt:
		rel(n.Sequence)
	case *ast.AlterSeqStmt:
		rel(n.Sequence)
	case *ast.AlterTableStmt:
		rel(n.Relation)
		if n.Cmds != nil {
			for _, c := range n.Cmds.Items {
				if c, ok := c.(*ast.AlterTableCmd); ok {
					role(c.Newowner)
				}
			}
		}
	case *ast.RenameStmt:
		rel(n.Relation)
		about = append(about, n.Object)
		name(n.Subname, n.Newname)
	case *ast.AlterObjectSchemaStmt:
		rel(n.Relation)
		about = append(about, n.Object)
		name(n.NewSchema)
	case *ast.AlterOwnerStmt:
		rel(n.Relation)
		about = append(about, n.Object)
		role(n.Newowner)
	case *ast.DropStmt:
		list(&about, n.Objects)
	case *ast.TruncateStmt:
		list(&about, n.Relations)
	case *ast.CommentStmt:
		about = append(about, n.Object)
	case *ast.GrantStmt:
		list(&about, n.Objects)
		list(&to, n.Grantees)
	case *ast.AlterDefaultPrivilegesStmt:
		if n.Action != nil {
			list(&to, n.Action.Grantees)
		}
	case *ast.GrantRoleStmt:
		list(&about, n.GrantedRoles)
		list(&to, n.GranteeRoles)
	case *ast.CreateRoleStmt:
		name(n.Role)
	case *ast.AlterRoleStmt:
		if n.Role != nil {
			about = append(about, n.Role)
		}
	case *ast.AlterRoleSetStmt:
		if n.Role != nil {
			about = append(about, n.Role)
		}
	case *ast.DropRoleStmt:
		list(&about, n.Roles)
	case *ast.DropOwnedStmt:
		list(&to, n.Roles)
	case *ast.ReassignOwnedStmt:
		list(&to, n.Roles)
		role(n.Newrole)
	case *ast.CreateEnumStmt:
		about = append(about, n.TypeName)
	case *ast.AlterEnumStmt:
		about = append(about, n.TypeName)
	case *ast.AlterSystemStmt:
		if n.Setstmt != nil {
			name(n.Setstmt.Name)
		}
	}
	return append(namesOf(about), objects...), namesOf(to)
}

func extensionObjects(o Extension) (out []string) {
	add := func(names ...[]string) {
		for _, n := range names {
			if n != nil {
				out = append(out, strings.Join(n, "."))
			}
		}
	}
	switch n := o.(type) {
	case *TrainModel:
		add(n.Name)
	case *Retrain:
		add(n.Name)
	case *ResumeTraining:
		add(n.Name)
	case *CancelTraining:
		add(n.Name)
	case *VerifyModel:
		add(n.Name)
	case *AlterModel:
		add(n.Name)
	case *DropModel:
		add(n.Names...)
	case *ExportModel:
		add(n.Name)
	case *ImportModel:
		add(n.Name)
	case *Backup:
		add(n.Name)
	case *Restore:
		add(n.Name, n.As)
	case *Undrop:
		add(n.Name)
	case *AlterTableRepartition:
		add(n.Name)
	case *CreateSecret:
		out = append(out, n.Name)
	case *DropSecret:
		out = append(out, n.Name)
	case *CreateResourceGroup:
		out = append(out, n.Name)
	case *AlterResourceGroup:
		out = append(out, n.Name)
		if n.RenameTo != "" {
			out = append(out, n.RenameTo)
		}
	case *DropResourceGroup:
		out = append(out, n.Name)
	case *RoleResourceGroup:
		out = append(out, n.Role)
		if n.Group != "" {
			out = append(out, n.Group)
		}
	case *AlterNode:
		out = append(out, n.Name)
		if n.With != "" {
			out = append(out, n.With)
		}
	}
	return out
}

// namesOf returns the names among nodes; nodes that are no names are left out.
func namesOf(nodes []ast.Node) (out []string) {
	for _, n := range nodes {
		if s := dottedName(n); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func dottedName(n ast.Node) string {
	switch n := n.(type) {
	case *ast.RangeVar:
		if n.SchemaName != "" {
			return n.SchemaName + "." + n.RelName
		}
		return n.RelName
	case *ast.String:
		return n.SVal
	case *ast.NodeList:
		if n != nil {
			return strings.Join(namesOf(n.Items), ".")
		}
	case *ast.ObjectWithArgs:
		if n.Objname != nil {
			return dottedName(n.Objname)
		}
	case *ast.TypeName:
		if n.Names != nil {
			return dottedName(n.Names)
		}
	case *ast.AccessPriv:
		return n.PrivName
	case *ast.RoleSpec:
		switch n.Roletype {
		case ast.ROLESPEC_CURRENT_ROLE:
			return "current_role"
		case ast.ROLESPEC_CURRENT_USER:
			return "current_user"
		case ast.ROLESPEC_SESSION_USER:
			return "session_user"
		case ast.ROLESPEC_PUBLIC:
			return "public"
		}
		return n.Rolename
	}
	return ""
}
