package catalog

import "github.com/tributarydb/tributary/sql/types"

// New makes the state of a new database: the schemas that are always there and
// the bootstrap superuser. It is the same on every node.
func New() *State {
	usage := []Grant{{Role: BootstrapRoleOID, Grantor: BootstrapRoleOID, Privs: "UC"}, {Role: 0, Grantor: BootstrapRoleOID, Privs: "U"}}
	s := &State{
		nextOID: types.FirstUserOID,

		definitions: new(Definitions),
		schemas:     map[types.OID]*Schema{},
		relations:   map[types.OID]*Relation{},
		names:       map[QName]types.OID{},
		types:       map[types.OID]*EnumType{},
		typeNames:   map[QName]types.OID{},
		roles:       map[types.OID]*Role{},
		models:      map[types.OID]*Model{},
		modelName:   map[QName]types.OID{},
		jobs:        map[types.OID]*Job{},
		nodes:       map[uint64]*Node{},
		removed:     map[uint64]bool{},
		manifests:   map[types.OID]*Manifest{},
		sequences:   map[types.OID]SeqValue{},
		settings:    map[string]string{},
		comments:    map[Dep]string{},
		unique:      map[types.OID]*keyLog{},
		database:    Database{Owner: BootstrapRoleOID},
	}
	for _, x := range []Schema{
		{OID: PgCatalogOID, Name: "pg_catalog", ACL: usage},
		{OID: PgToastOID, Name: "pg_toast"},
		{OID: PublicOID, Name: "public", ACL: usage},
		{OID: InformationOID, Name: "information_schema", ACL: usage},
		{OID: MLSchemaOID, Name: "ml", ACL: usage},
		{OID: ClusterSchemaOID, Name: "cluster", ACL: usage},
	} {
		x.Owner = BootstrapRoleOID
		s.schemas[x.OID] = &x
	}
	s.roles[BootstrapRoleOID] = &Role{OID: BootstrapRoleOID, Name: BootstrapRole, Super: true, Login: true, Inherit: true,
		CreateRole: true, CreateDB: true, Replication: true, BypassRLS: true, ConnLimit: -1}
	s.addPredefined()
	s.comments[Dep{OID: PublicOID}] = "standard public schema"
	s.comments[Dep{OID: PgCatalogOID}] = "system catalog schema"
	return s
}

// addPredefined adds the predefined roles of PostgreSQL that have a meaning here, if they are missing: states
// of older versions have none.
func (s *State) addPredefined() {
	for _, r := range []Role{
		{OID: MonitorOID, Name: "pg_monitor", MemberOf: []Membership{{Role: ReadAllStatsOID}}},
		{OID: ReadAllStatsOID, Name: "pg_read_all_stats"},
		{OID: SignalBackendOID, Name: "pg_signal_backend"},
		{OID: ReadFilesOID, Name: "pg_read_server_files"},
		{OID: WriteFilesOID, Name: "pg_write_server_files"},
		{OID: ReadAllDataOID, Name: "pg_read_all_data"},
		{OID: WriteAllDataOID, Name: "pg_write_all_data"},
	} {
		if s.roles[r.OID] == nil {
			r.Inherit, r.ConnLimit = true, -1
			s.roles[r.OID] = &r
		}
	}
}
