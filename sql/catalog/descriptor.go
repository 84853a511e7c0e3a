package catalog

import (
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Well-known objects of a new database, with Postgres's own OIDs.
const (
	DatabaseOID       types.OID = 5
	PgCatalogOID      types.OID = 11
	PublicOID         types.OID = 2200
	InformationOID    types.OID = 13000
	MLSchemaOID       types.OID = 13001 // relations ml.*
	ClusterSchemaOID  types.OID = 13002 // relations cluster.*
	PgToastOID        types.OID = 99
	BootstrapRoleOID  types.OID = 10
	MonitorOID        types.OID = 3373 // pg_monitor
	ReadAllStatsOID   types.OID = 3375
	SignalBackendOID  types.OID = 4200
	ReadFilesOID      types.OID = 4569 // pg_read_server_files
	WriteFilesOID     types.OID = 4570 // pg_write_server_files
	ReadAllDataOID    types.OID = 6181
	WriteAllDataOID   types.OID = 6182
	DatabaseName                = "tributary"
	BootstrapRole               = "tributary"
	DefaultPartitions           = 8
)

// Schema is a namespace.
type Schema struct {
	OID   types.OID
	Name  string
	Owner types.OID
	ACL   []Grant
}

// Grant is one role's privileges on an object, as the letters of aclitem
// (arwdDxtXUCcT), "*" after a letter meaning with grant option.
type Grant struct {
	Role, Grantor types.OID // Role 0 is PUBLIC
	Privs         string
}

// RelKind is pg_class.relkind.
type RelKind byte

// The kinds of relation.
const (
	KindTable     RelKind = 'r'
	KindView      RelKind = 'v'
	KindMatView   RelKind = 'm'
	KindSequence  RelKind = 'S'
	KindIndex     RelKind = 'i'
	KindComposite RelKind = 'c'
)

// CheckOption is the option of a view that WITH CHECK OPTION sets, to local or cascaded.
const CheckOption = "check_option"

// Relation describes anything that pg_class lists. Descriptors are shared and
// never changed: to alter one, Clone it and put the clone.
type Relation struct {
	OID     types.OID
	Schema  types.OID
	Name    string
	Kind    RelKind
	Owner   types.OID
	ACL     []Grant
	Temp    bool   // dropped with its session
	Session uint64 // the session a temporary relation belongs to
	// Version counts the descriptor's changes; a change that expects another
	// version conflicts.
	Version uint64

	Columns     []Column // tables, views; dropped ones stay, flagged
	Constraints []Constraint
	Partitions  int      // tables: number of partitions
	Query       string   // views and materialised views: the text of the query
	Dialect     uint8    // of Query
	SearchPath  []string // views: the path under which Query was bound
	DependsOn   []Dep    // objects that it depends on, which must not be dropped
	Sees        []Seen   // views: the relations of Query as they were when it was bound
	Populated   bool     // materialised views

	Index   *Index    // indexes
	Seq     *Sequence // sequences
	Options map[string]string
	// ReferencedBy are the tables whose foreign keys refer to this one, sorted. Adding a key changes this
	// descriptor too, so that writers that do not know the key conflict.
	ReferencedBy []types.OID
	// DistributionKey are the columns whose hash decides in which partition, and so on which node, a row is.
	// Without it a row may be anywhere.
	DistributionKey []int16
}

// Dep is a reference to another object, or to one column of a relation.
type Dep struct {
	OID    types.OID
	Column int16 // 0: the whole object
}

// Seen are the columns of a relation when a view was made, in their order. A column added later is
// not in the view's *, takes no part in its NATURAL JOIN and makes none of its names ambiguous; one
// dropped later still counts in an alias's list of columns.
type Seen struct {
	OID     types.OID
	Columns []int16
}

// Column is one attribute.
type Column struct {
	Name      string
	Num       int16 // attnum, from 1, never reused: segments name columns by it
	Type      types.Type
	NotNull   bool
	Default   string    // SQL text; "" for none
	Identity  byte      // 0, 'a' always, 'd' by default
	Generated string    // SQL text of a stored generated column
	Sequence  types.OID // the sequence of an identity or serial column
	Dropped   bool
	// Missing is the value of rows in segments written before the column was
	// added (PostgreSQL's attmissingval).
	Missing   types.Datum
	Collation string
	ACL       []Grant
}

// Constraint of a table.
type Constraint struct {
	OID                           types.OID
	Name                          string
	Kind                          byte // 'p' primary key, 'u' unique, 'c' check, 'f' foreign key
	Columns                       []int16
	Check                         string // SQL text
	Index                         types.OID
	RefTable                      types.OID
	RefCols                       []int16
	OnDelete                      byte // 'a' no action, 'r' restrict, 'c' cascade, 'n' set null, 'd' set default
	OnUpdate                      byte
	MatchFull                     bool
	Deferrable, InitiallyDeferred bool
	NullsNotDistinct              bool
	NotValid                      bool    // rows from before it may violate it
	SetColumns                    []int16 // ON DELETE SET NULL | DEFAULT (columns); nil for all
}

// Index is the descriptor of an index: its table, columns and uniqueness.
type Index struct {
	Table            types.OID
	Columns          []int16  // 0 where Exprs has an expression instead
	Exprs            []string // SQL text per key, "" for a plain column
	Options          []byte   // per key: bit 0 DESC, bit 1 NULLS FIRST
	Where            string
	Unique, Primary  bool
	Method           string
	Include          []int16
	NullsNotDistinct bool
}

// Sequence is the definition of a sequence; its value is in State.SequenceAt.
type Sequence struct {
	Type             types.Type
	Start, Increment int64
	Min, Max, Cache  int64
	Cycle            bool
	OwnedTable       types.OID
	OwnedColumn      int16
}

// SeqValue is a sequence's position: what nextval returned last, or returns next while Called is
// false.
type SeqValue struct {
	Last   int64
	Called bool
}

// Role is a user or a group.
type Role struct {
	OID                                                                 types.OID
	Name                                                                string
	Super, Login, Inherit, CreateRole, CreateDB, Replication, BypassRLS bool
	ConnLimit                                                           int
	Password                                                            string // SCRAM-SHA-256 verifier, "" for none
	ValidUntil                                                          time.Time
	MemberOf                                                            []Membership
	Settings                                                            map[string]string
	ResourceGroup                                                       types.OID // 0 for none
}

// Membership is one role's membership in another.
type Membership struct {
	Role  types.OID
	Admin bool
}

// EnumType is a user's enumerated type. Values are represented as strings and
// compare by their place in Labels.
type EnumType struct {
	OID, ArrayOID types.OID
	Schema        types.OID
	Name          string
	Owner         types.OID
	Labels        []string
	ACL           []Grant
}

// Stranger returns a label of a value, or an element of an array, that is not among the labels.
func (e *EnumType) Stranger(value types.Datum) (label string, found bool) {
	switch v := value.(type) {
	case string:
		return v, !slices.Contains(e.Labels, v)
	case types.Array:
		for _, d := range v.Elems {
			if s, ok := d.(string); ok && !slices.Contains(e.Labels, s) {
				return s, true
			}
		}
	}
	return "", false
}

// ErrLabel says that a label is not one of the type's.
func (e *EnumType) ErrLabel(label string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", lex.QuoteName(e.Name), label)
}

// Clone copies r so that the copy may be changed before it is put.
func (r *Relation) Clone() *Relation {
	c := *r
	c.Columns = append([]Column(nil), r.Columns...)
	c.Constraints = append([]Constraint(nil), r.Constraints...)
	c.ACL = append([]Grant(nil), r.ACL...)
	c.DependsOn = append([]Dep(nil), r.DependsOn...)
	return &c
}

// Column finds a live column by name; nil if there is none.
func (r *Relation) Column(name string) *Column {
	for i := range r.Columns {
		if c := &r.Columns[i]; c.Name == name && !c.Dropped {
			return c
		}
	}
	return nil
}

// ColumnNum finds a live column by number; nil if there is none.
func (r *Relation) ColumnNum(num int16) *Column {
	i := int(num) - 1 // where it is
	if i < 0 || i >= len(r.Columns) || r.Columns[i].Num != num {
		i = slices.IndexFunc(r.Columns, func(c Column) bool { return c.Num == num })
	}
	if i < 0 || r.Columns[i].Dropped {
		return nil
	}
	return &r.Columns[i]
}

// Live returns the columns that are not dropped, in order. They must not be modified: if no column is
// dropped, they are the relation's own slice, since every statement that writes calls this.
func (r *Relation) Live() []Column {
	if !slices.ContainsFunc(r.Columns, func(c Column) bool { return c.Dropped }) {
		return slices.Clip(r.Columns)
	}
	out := make([]Column, 0, len(r.Columns))
	for _, c := range r.Columns {
		if !c.Dropped {
			out = append(out, c)
		}
	}
	return out
}

// PrimaryKey returns the primary key constraint, or nil.
func (r *Relation) PrimaryKey() *Constraint {
	for i := range r.Constraints {
		if r.Constraints[i].Kind == 'p' {
			return &r.Constraints[i]
		}
	}
	return nil
}

// SecurityInvoker reports whether privileges on what a view reads are checked for the role that
// reads the view, not for its owner.
func (r *Relation) SecurityInvoker() bool {
	on, err := types.ParseText(types.Bool, r.Options["security_invoker"], nil)
	return err == nil && on == true
}
