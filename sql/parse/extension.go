package parse

import "github.com/multigres/multigres/go/common/parser/ast"

// Extension is a statement that is not in Postgres's grammar.
type Extension interface {
	// Tag is the command tag, for example "TRAIN MODEL".
	Tag() string
	extension()
}

// Option is one k = v of a WITH (…) or OPTIONS (…) list. Value is an
// expression tree: an A_Const, a ColumnRef for a bare word, an ArrayExpr for
// ARRAY[…] and […], a FuncCall for HPARAM_RANGE(1, 2), a ParamRef for $1.
type Option struct {
	Name  string // folded
	Value ast.Node
	Text  string // the value as written
	Pos   int    // of the name, in characters from 1
}

// TrainModel is {TRAIN|CREATE} [OR REPLACE] MODEL. Name has one to three parts.
type TrainModel struct {
	Name         []string
	NamePos      int
	OrReplace    bool
	IfNotExists  bool
	Create       bool   // spelled CREATE MODEL
	Algorithm    string // folded; "" when USING is not given
	AlgorithmPos int
	Predict      []string
	PredictPos   []int
	GroupBy      []string // one model for each of their values
	GroupByPos   []int
	Transform    []*ast.ResTarget // select items; nil without TRANSFORM
	Options      []Option
	Query        *ast.SelectStmt
	QueryText    string
}

// Retrain is RETRAIN MODEL name [AS query]; Query is nil to use the model's.
type Retrain struct {
	Name      []string
	Query     *ast.SelectStmt
	QueryText string
}

// ResumeTraining is RESUME TRAINING name.
type ResumeTraining struct{ Name []string }

// CancelTraining is CANCEL TRAINING name [TRIAL n].
type CancelTraining struct {
	Name  []string
	Trial int64 // 0 for the whole training
}

// ShowModels is SHOW MODELS.
type ShowModels struct{}

// DescribeModel is DESCRIBE MODEL name [VERSION n] [AS {CARD | JSON}]; Version is 0 for the default one.
type DescribeModel struct {
	Name    []string
	Version int64
	As      string // card, json or ""
}

// VerifyModel is VERIFY MODEL name [VERSION n]; Version is 0 for the default one.
type VerifyModel struct {
	Name    []string
	Version int64
}

// AlterModel is ALTER MODEL name and one action: the one that is not zero.
type AlterModel struct {
	Name           []string
	IfExists       bool
	RenameTo       string
	DefaultVersion int64 // SET DEFAULT VERSION n, n ≥ 1
	OwnerTo        string
	SetAlias       string // SET ALIAS name VERSION n, n ≥ 1
	AliasPos       int
	AliasVersion   int64
	DropAlias      string
}

// DropModel is DROP MODEL [IF EXISTS] name [, …] [CASCADE], or DROP MODEL
// [IF EXISTS] name VERSION n [, …], which drops those versions of one model.
type DropModel struct {
	Names    [][]string
	Versions []int64
	IfExists bool
	Cascade  bool
}

// ExportModel is EXPORT MODEL name [VERSION n] TO {'uri' | STDOUT} [WITH (…)]. URI is "" for STDOUT.
type ExportModel struct {
	Name    []string
	Version int64 // 0 for the default one
	URI     string
	Options []Option
}

// ImportModel is IMPORT MODEL name FROM {'uri' | STDIN} [WITH (…)]. URI is "" for STDIN.
type ImportModel struct {
	Name    []string
	NamePos int
	URI     string
	Options []Option
}

// Backup is BACKUP [SCHEMA name | TABLE name | MODEL name] TO 'uri' [WITH (…)].
type Backup struct {
	Kind    string   // schema, table or model; "" for everything
	Name    []string // nil for everything
	URI     string
	Options []Option
}

// Restore is RESTORE [SCHEMA name | TABLE name | MODEL name [AS name]] FROM 'uri' [AS OF 'time'] [WITH (…)].
type Restore struct {
	Kind    string
	Name    []string
	As      []string // nil for the same name
	URI     string
	AsOf    string // "" for the newest
	Options []Option
}

// ShowBackups is SHOW BACKUPS FROM 'uri'.
type ShowBackups struct{ URI string }

// Undrop is UNDROP TABLE name [AS OF 'time'] [RENAME TO name].
type Undrop struct {
	Name []string
	AsOf string // "" for as it was when it was dropped
	As   string // "" for the same name
}

// Explain is EXPLAIN of a training. EXPLAIN of anything else is an
// *ast.ExplainStmt.
type Explain struct {
	Analyze bool
	Verbose bool
	Options []*ast.DefElem // all of them, as in an ast.ExplainStmt
	Train   *TrainModel
}

// AlterTableRepartition is ALTER TABLE [IF EXISTS] name REPARTITION INTO n.
type AlterTableRepartition struct {
	Name     []string
	IfExists bool
	N        int64
}

// AlterNode is ALTER NODE name DRAIN | RESUME | DECOMMISSION [FORCE] | REPLACE
// WITH name | SET ( name = value, … ) | RESET ( name, … ).
type AlterNode struct {
	Name   string
	Action NodeAction
	With   string   // NodeReplace: who takes its place
	Force  bool     // NodeDecommission: without waiting for its files
	Set    []Option // NodeSet
	Reset  []string // NodeReset
}

// NodeAction is the action of ALTER NODE.
type NodeAction uint8

// The actions.
const (
	NodeDrain NodeAction = iota + 1
	NodeResume
	NodeDecommission
	NodeReplace
	NodeSet
	NodeReset
)

// FinalizeUpgrade is ALTER SYSTEM FINALIZE UPGRADE.
type FinalizeUpgrade struct{}

// NoEffect is a statement that is accepted and does nothing: MySQL's LOCK TABLES, SET NAMES and the
// like. The Statement's Notices say so.
type NoEffect struct{ Command string }

// Tag implements Extension.
func (*TrainModel) Tag() string            { return "TRAIN MODEL" }
func (*Retrain) Tag() string               { return "RETRAIN MODEL" }
func (*ResumeTraining) Tag() string        { return "RESUME TRAINING" }
func (*CancelTraining) Tag() string        { return "CANCEL TRAINING" }
func (*ShowModels) Tag() string            { return "SHOW MODELS" }
func (*DescribeModel) Tag() string         { return "DESCRIBE MODEL" }
func (*VerifyModel) Tag() string           { return "VERIFY MODEL" }
func (*AlterModel) Tag() string            { return "ALTER MODEL" }
func (*DropModel) Tag() string             { return "DROP MODEL" }
func (*ExportModel) Tag() string           { return "EXPORT MODEL" }
func (*ImportModel) Tag() string           { return "IMPORT MODEL" }
func (*Backup) Tag() string                { return "BACKUP" }
func (*Restore) Tag() string               { return "RESTORE" }
func (*ShowBackups) Tag() string           { return "SHOW BACKUPS" }
func (*Undrop) Tag() string                { return "UNDROP TABLE" }
func (*Explain) Tag() string               { return "EXPLAIN" }
func (*AlterTableRepartition) Tag() string { return "ALTER TABLE" }
func (*AlterNode) Tag() string             { return "ALTER NODE" }
func (*FinalizeUpgrade) Tag() string       { return "ALTER SYSTEM" }
func (n *NoEffect) Tag() string            { return n.Command }

func (*TrainModel) extension()            {}
func (*Retrain) extension()               {}
func (*ResumeTraining) extension()        {}
func (*CancelTraining) extension()        {}
func (*ShowModels) extension()            {}
func (*DescribeModel) extension()         {}
func (*VerifyModel) extension()           {}
func (*AlterModel) extension()            {}
func (*DropModel) extension()             {}
func (*ExportModel) extension()           {}
func (*ImportModel) extension()           {}
func (*Backup) extension()                {}
func (*Restore) extension()               {}
func (*Undrop) extension()                {}
func (*ShowBackups) extension()           {}
func (*Explain) extension()               {}
func (*AlterTableRepartition) extension() {}
func (*AlterNode) extension()             {}
func (*FinalizeUpgrade) extension()       {}
func (*NoEffect) extension()              {}
