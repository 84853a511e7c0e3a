package ddl

import "github.com/multigres/multigres/go/common/parser/ast"

// actions are PostgreSQL's names of what ALTER TABLE does, for errors.
var actions = map[ast.AlterTableType]string{
	ast.AT_AddColumn:          "ADD COLUMN",
	ast.AT_DropColumn:         "DROP COLUMN",
	ast.AT_ColumnDefault:      "ALTER COLUMN ... SET DEFAULT",
	ast.AT_DropNotNull:        "ALTER COLUMN ... DROP NOT NULL",
	ast.AT_SetNotNull:         "ALTER COLUMN ... SET NOT NULL",
	ast.AT_DropExpression:     "ALTER COLUMN ... DROP EXPRESSION",
	ast.AT_SetStatistics:      "ALTER COLUMN ... SET STATISTICS",
	ast.AT_SetStorage:         "ALTER COLUMN ... SET STORAGE",
	ast.AT_SetCompression:     "ALTER COLUMN ... SET COMPRESSION",
	ast.AT_SetOptions:         "ALTER COLUMN ... SET",
	ast.AT_ResetOptions:       "ALTER COLUMN ... RESET",
	ast.AT_AlterColumnType:    "ALTER COLUMN ... SET DATA TYPE",
	ast.AT_AddIdentity:        "ALTER COLUMN ... ADD IDENTITY",
	ast.AT_SetIdentity:        "ALTER COLUMN ... SET",
	ast.AT_DropIdentity:       "ALTER COLUMN ... DROP IDENTITY",
	ast.AT_AddConstraint:      "ADD CONSTRAINT",
	ast.AT_AlterConstraint:    "ALTER CONSTRAINT",
	ast.AT_ValidateConstraint: "VALIDATE CONSTRAINT",
	ast.AT_DropConstraint:     "DROP CONSTRAINT",
	ast.AT_ClusterOn:          "CLUSTER ON",
	ast.AT_DropCluster:        "SET WITHOUT CLUSTER",
	ast.AT_SetLogged:          "SET LOGGED",
	ast.AT_SetUnLogged:        "SET UNLOGGED",
	ast.AT_SetAccessMethod:    "SET ACCESS METHOD",
	ast.AT_SetTableSpace:      "SET TABLESPACE",
	ast.AT_EnableTrig:         "ENABLE TRIGGER",
	ast.AT_DisableTrig:        "DISABLE TRIGGER",
	ast.AT_EnableTrigAll:      "ENABLE TRIGGER ALL",
	ast.AT_DisableTrigAll:     "DISABLE TRIGGER ALL",
	ast.AT_AddInherit:         "INHERIT",
	ast.AT_DropInherit:        "NO INHERIT",
	ast.AT_AddOf:              "OF",
	ast.AT_DropOf:             "NOT OF",
	ast.AT_ReplicaIdentity:    "REPLICA IDENTITY",
	ast.AT_EnableRowSecurity:  "ENABLE ROW SECURITY",
	ast.AT_DisableRowSecurity: "DISABLE ROW SECURITY",
	ast.AT_AttachPartition:    "ATTACH PARTITION",
	ast.AT_DetachPartition:    "DETACH PARTITION",
}

func actionName(t ast.AlterTableType) string {
	if name := actions[t]; name != "" {
		return name
	}
	return "of this kind"
}
