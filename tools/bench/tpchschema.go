package main

import "strings"

// tableDef is a table as CREATE TABLE wants it.
type tableDef struct {
	name, key string
	columns   string // "name type, …"
}

// header lists the column names, for csv files.
func (t tableDef) header() string {
	var names []string
	for _, c := range strings.Split(t.columns, "; ") {
		name, _, _ := strings.Cut(c, " ")
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

func (t tableDef) create(withKey bool) string {
	body := strings.ReplaceAll(t.columns, "; ", " NOT NULL, ") + " NOT NULL"
	if withKey {
		body += ", PRIMARY KEY (" + t.key + ")"
	}
	return "CREATE TABLE " + t.name + " (" + body + ")"
}

// tpchTables are the tables of section 1.4 of the TPC-H specification.
var tpchTables = []tableDef{
	{"region", "r_regionkey", "r_regionkey integer; r_name char(25); r_comment varchar(152)"},
	{"nation", "n_nationkey", "n_nationkey integer; n_name char(25); n_regionkey integer; n_comment varchar(152)"},
	{"supplier", "s_suppkey", "s_suppkey integer; s_name char(25); s_address varchar(40); s_nationkey integer; s_phone char(15); " +
		"s_acctbal decimal(15,2); s_comment varchar(101)"},
	{"customer", "c_custkey", "c_custkey integer; c_name varchar(25); c_address varchar(40); c_nationkey integer; c_phone char(15); " +
		"c_acctbal decimal(15,2); c_mktsegment char(10); c_comment varchar(117)"},
	{"part", "p_partkey", "p_partkey integer; p_name varchar(55); p_mfgr char(25); p_brand char(10); p_type varchar(25); p_size integer; " +
		"p_container char(10); p_retailprice decimal(15,2); p_comment varchar(23)"},
	{"partsupp", "ps_partkey, ps_suppkey", "ps_partkey integer; ps_suppkey integer; ps_availqty integer; ps_supplycost decimal(15,2); " +
		"ps_comment varchar(199)"},
	{"orders", "o_orderkey", "o_orderkey bigint; o_custkey integer; o_orderstatus char(1); o_totalprice decimal(15,2); o_orderdate date; " +
		"o_orderpriority char(15); o_clerk char(15); o_shippriority integer; o_comment varchar(79)"},
	{"lineitem", "l_orderkey, l_linenumber", "l_orderkey bigint; l_partkey integer; l_suppkey integer; l_linenumber integer; " +
		"l_quantity decimal(15,2); l_extendedprice decimal(15,2); l_discount decimal(15,2); l_tax decimal(15,2); l_returnflag char(1); " +
		"l_linestatus char(1); l_shipdate date; l_commitdate date; l_receiptdate date; l_shipinstruct char(25); l_shipmode char(10); " +
		"l_comment varchar(44)"},
}
