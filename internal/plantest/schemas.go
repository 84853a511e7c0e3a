package plantest

import "testing"

// TPCH is the schema of TPC-H with statistics of scale factor 1.
func TPCH(t testing.TB) *World {
	w := New()
	w.NewTable(t, "region", 5, `
		r_regionkey int pk min=0 max=4
		r_name char(25) notnull ndv=5
		r_comment varchar(152) ndv=5`)
	w.NewTable(t, "nation", 25, `
		n_nationkey int pk min=0 max=24
		n_name char(25) notnull ndv=25
		n_regionkey int notnull ndv=5 min=0 max=4
		n_comment varchar(152) ndv=25`)
	w.NewTable(t, "supplier", 10000, `
		s_suppkey int pk min=1 max=10000
		s_name char(25) notnull ndv=10000
		s_address varchar(40) notnull ndv=10000
		s_nationkey int notnull ndv=25 min=0 max=24
		s_phone char(15) notnull ndv=10000
		s_acctbal decimal(15,2) notnull ndv=9955 min=-998.22 max=9999.72
		s_comment varchar(101) notnull ndv=10000`)
	w.NewTable(t, "part", 200000, `
		p_partkey int pk min=1 max=200000
		p_name varchar(55) notnull ndv=199997
		p_mfgr char(25) notnull ndv=5
		p_brand char(10) notnull ndv=25
		p_type varchar(25) notnull ndv=150
		p_size int notnull ndv=50 min=1 max=50
		p_container char(10) notnull ndv=40
		p_retailprice decimal(15,2) notnull ndv=20899 min=901.00 max=2098.99
		p_comment varchar(23) notnull ndv=131753`)
	w.NewTable(t, "partsupp", 800000, `
		ps_partkey int pk ndv=200000 min=1 max=200000
		ps_suppkey int pk ndv=10000 min=1 max=10000
		ps_availqty int notnull ndv=9999 min=1 max=9999
		ps_supplycost decimal(15,2) notnull ndv=99901 min=1.00 max=1000.00
		ps_comment varchar(199) notnull ndv=799124`)
	w.NewTable(t, "customer", 150000, `
		c_custkey int pk min=1 max=150000
		c_name varchar(25) notnull ndv=150000
		c_address varchar(40) notnull ndv=150000
		c_nationkey int notnull ndv=25 min=0 max=24
		c_phone char(15) notnull ndv=150000
		c_acctbal decimal(15,2) notnull ndv=140187 min=-999.99 max=9999.99
		c_mktsegment char(10) notnull ndv=5
		c_comment varchar(117) notnull ndv=149968`)
	w.NewTable(t, "orders", 1500000, `
		o_orderkey bigint pk min=1 max=6000000
		o_custkey int notnull ndv=99996 min=1 max=149999
		o_orderstatus char(1) notnull ndv=3
		o_totalprice decimal(15,2) notnull ndv=1464556 min=857.71 max=555285.16
		o_orderdate date notnull ndv=2406 min=1992-01-01 max=1998-08-02
		o_orderpriority char(15) notnull ndv=5
		o_clerk char(15) notnull ndv=1000
		o_shippriority int notnull ndv=1 min=0 max=0
		o_comment varchar(79) notnull ndv=1482071`)
	w.NewTable(t, "lineitem", 6001215, `
		l_orderkey bigint pk ndv=1500000 min=1 max=6000000
		l_partkey int notnull ndv=200000 min=1 max=200000
		l_suppkey int notnull ndv=10000 min=1 max=10000
		l_linenumber int pk ndv=7 min=1 max=7
		l_quantity decimal(15,2) notnull ndv=50 min=1.00 max=50.00
		l_extendedprice decimal(15,2) notnull ndv=933900 min=901.00 max=104949.50
		l_discount decimal(15,2) notnull ndv=11 min=0.00 max=0.10
		l_tax decimal(15,2) notnull ndv=9 min=0.00 max=0.08
		l_returnflag char(1) notnull ndv=3
		l_linestatus char(1) notnull ndv=2
		l_shipdate date notnull ndv=2526 min=1992-01-02 max=1998-12-01
		l_commitdate date notnull ndv=2466 min=1992-01-31 max=1998-10-31
		l_receiptdate date notnull ndv=2555 min=1992-01-03 max=1998-12-31
		l_shipinstruct char(25) notnull ndv=4
		l_shipmode char(10) notnull ndv=7
		l_comment varchar(44) notnull ndv=4580667`)
	return w
}

// Small is a schema for the rules: t and u share a key, s is keyed by k.
func Small(t testing.TB) *World {
	w := New()
	w.NewTable(t, "t", 10000, `
		a int pk min=1 max=10000
		b int ndv=100 min=0 max=99 nulls=0.1
		c text ndv=50
		d numeric(10,2) ndv=1000 min=0.00 max=999.99`)
	w.NewTable(t, "u", 1000, `
		a int ndv=1000 min=1 max=10000 nulls=0.1
		x int notnull ndv=10 min=0 max=9
		y text ndv=100
		arr int[] ndv=10`)
	w.NewTable(t, "s", 100, `
		k int pk min=1 max=100
		v int ndv=10 min=0 max=9
		w text notnull ndv=100`)
	return w
}
