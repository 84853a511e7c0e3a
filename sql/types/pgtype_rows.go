package types

// pgTypeRows are the rows of pg_type for the built-in types, as PostgreSQL 15
// has them: oid, name, SQL name where it differs, length, by value, kind,
// category, preferred, element, array, alignment, storage, in, out, receive,
// send, modifier in and out, collation, subscript; * is the arrays' function.
const pgTypeRows = `
16|bool|boolean|1|t|b|B|t|0|1000|c|p|boolin|boolout|boolrecv|boolsend|-|-|0|-
17|bytea||-1|f|b|U|f|0|1001|i|x|byteain|byteaout|bytearecv|byteasend|-|-|0|-
18|char|"char"|1|t|b|Z|f|0|1002|c|p|charin|charout|charrecv|charsend|-|-|0|-
19|name||64|f|b|S|f|18|1003|c|p|namein|nameout|namerecv|namesend|-|-|950|raw_array_subscript_handler
20|int8|bigint|8|t|b|N|f|0|1016|d|p|int8in|int8out|int8recv|int8send|-|-|0|-
21|int2|smallint|2|t|b|N|f|0|1005|s|p|int2in|int2out|int2recv|int2send|-|-|0|-
22|int2vector||-1|f|b|A|f|21|1006|i|p|int2vectorin|int2vectorout|int2vectorrecv|int2vectorsend|-|-|0|*
23|int4|integer|4|t|b|N|f|0|1007|i|p|int4in|int4out|int4recv|int4send|-|-|0|-
24|regproc||4|t|b|N|f|0|1008|i|p|regprocin|regprocout|regprocrecv|regprocsend|-|-|0|-
25|text||-1|f|b|S|t|0|1009|i|x|textin|textout|textrecv|textsend|-|-|100|-
26|oid||4|t|b|N|t|0|1028|i|p|oidin|oidout|oidrecv|oidsend|-|-|0|-
27|tid||6|f|b|U|f|0|1010|s|p|tidin|tidout|tidrecv|tidsend|-|-|0|-
28|xid||4|t|b|U|f|0|1011|i|p|xidin|xidout|xidrecv|xidsend|-|-|0|-
29|cid||4|t|b|U|f|0|1012|i|p|cidin|cidout|cidrecv|cidsend|-|-|0|-
30|oidvector||-1|f|b|A|f|26|1013|i|p|oidvectorin|oidvectorout|oidvectorrecv|oidvectorsend|-|-|0|*
32|pg_ddl_command||8|t|p|P|f|0|0|d|p|pg_ddl_command_in|pg_ddl_command_out|pg_ddl_command_recv|pg_ddl_command_send|-|-|0|-
114|json||-1|f|b|U|f|0|199|i|x|json_in|json_out|json_recv|json_send|-|-|0|-
142|xml||-1|f|b|U|f|0|143|i|x|xml_in|xml_out|xml_recv|xml_send|-|-|0|-
143|_xml||-1|f|b|A|f|142|0|i|x|*|*|*|*|-|-|0|*
194|pg_node_tree||-1|f|b|Z|f|0|0|i|x|pg_node_tree_in|pg_node_tree_out|pg_node_tree_recv|pg_node_tree_send|-|-|100|-
199|_json||-1|f|b|A|f|114|0|i|x|*|*|*|*|-|-|0|*
269|table_am_handler||4|t|p|P|f|0|0|i|p|table_am_handler_in|table_am_handler_out|-|-|-|-|0|-
325|index_am_handler||4|t|p|P|f|0|0|i|p|index_am_handler_in|index_am_handler_out|-|-|-|-|0|-
700|float4|real|4|t|b|N|f|0|1021|i|p|float4in|float4out|float4recv|float4send|-|-|0|-
701|float8|double precision|8|t|b|N|t|0|1022|d|p|float8in|float8out|float8recv|float8send|-|-|0|-
705|unknown||-2|f|p|X|f|0|0|c|p|unknownin|unknownout|unknownrecv|unknownsend|-|-|0|-
790|money||8|t|b|N|f|0|791|d|p|cash_in|cash_out|cash_recv|cash_send|-|-|0|-
1000|_bool||-1|f|b|A|f|16|0|i|x|*|*|*|*|-|-|0|*
1001|_bytea||-1|f|b|A|f|17|0|i|x|*|*|*|*|-|-|0|*
1002|_char||-1|f|b|A|f|18|0|i|x|*|*|*|*|-|-|0|*
1003|_name||-1|f|b|A|f|19|0|i|x|*|*|*|*|-|-|950|*
1005|_int2||-1|f|b|A|f|21|0|i|x|*|*|*|*|-|-|0|*
1006|_int2vector||-1|f|b|A|f|22|0|i|x|*|*|*|*|-|-|0|*
1007|_int4||-1|f|b|A|f|23|0|i|x|*|*|*|*|-|-|0|*
1008|_regproc||-1|f|b|A|f|24|0|i|x|*|*|*|*|-|-|0|*
1009|_text||-1|f|b|A|f|25|0|i|x|*|*|*|*|-|-|100|*
1010|_tid||-1|f|b|A|f|27|0|i|x|*|*|*|*|-|-|0|*
1011|_xid||-1|f|b|A|f|28|0|i|x|*|*|*|*|-|-|0|*
1012|_cid||-1|f|b|A|f|29|0|i|x|*|*|*|*|-|-|0|*
1013|_oidvector||-1|f|b|A|f|30|0|i|x|*|*|*|*|-|-|0|*
1014|_bpchar||-1|f|b|A|f|1042|0|i|x|*|*|*|*|bpchartypmodin|bpchartypmodout|100|*
1015|_varchar||-1|f|b|A|f|1043|0|i|x|*|*|*|*|varchartypmodin|varchartypmodout|100|*
1016|_int8||-1|f|b|A|f|20|0|d|x|*|*|*|*|-|-|0|*
1021|_float4||-1|f|b|A|f|700|0|i|x|*|*|*|*|-|-|0|*
1022|_float8||-1|f|b|A|f|701|0|d|x|*|*|*|*|-|-|0|*
1028|_oid||-1|f|b|A|f|26|0|i|x|*|*|*|*|-|-|0|*
1033|aclitem||12|f|b|U|f|0|1034|i|p|aclitemin|aclitemout|-|-|-|-|0|-
1034|_aclitem||-1|f|b|A|f|1033|0|i|x|*|*|*|*|-|-|0|*
1042|bpchar|character|-1|f|b|S|f|0|1014|i|x|bpcharin|bpcharout|bpcharrecv|bpcharsend|bpchartypmodin|bpchartypmodout|100|-
1043|varchar|character varying|-1|f|b|S|f|0|1015|i|x|varcharin|varcharout|varcharrecv|varcharsend|varchartypmodin|varchartypmodout|100|-
1082|date||4|t|b|D|f|0|1182|i|p|date_in|date_out|date_recv|date_send|-|-|0|-
1083|time|time without time zone|8|t|b|D|f|0|1183|d|p|time_in|time_out|time_recv|time_send|timetypmodin|timetypmodout|0|-
1114|timestamp|timestamp without time zone|8|t|b|D|f|0|1115|d|p|timestamp_in|timestamp_out|timestamp_recv|timestamp_send|timestamptypmodin|timestamptypmodout|0|-
1115|_timestamp||-1|f|b|A|f|1114|0|d|x|*|*|*|*|timestamptypmodin|timestamptypmodout|0|*
1182|_date||-1|f|b|A|f|1082|0|i|x|*|*|*|*|-|-|0|*
1183|_time||-1|f|b|A|f|1083|0|d|x|*|*|*|*|timetypmodin|timetypmodout|0|*
1184|timestamptz|timestamp with time zone|8|t|b|D|t|0|1185|d|p|timestamptz_in|timestamptz_out|timestamptz_recv|timestamptz_send|timestamptztypmodin|timestamptztypmodout|0|-
1185|_timestamptz||-1|f|b|A|f|1184|0|d|x|*|*|*|*|timestamptztypmodin|timestamptztypmodout|0|*
1186|interval||16|f|b|T|t|0|1187|d|p|interval_in|interval_out|interval_recv|interval_send|intervaltypmodin|intervaltypmodout|0|-
1187|_interval||-1|f|b|A|f|1186|0|d|x|*|*|*|*|intervaltypmodin|intervaltypmodout|0|*
1231|_numeric||-1|f|b|A|f|1700|0|i|x|*|*|*|*|numerictypmodin|numerictypmodout|0|*
1263|_cstring||-1|f|b|A|f|2275|0|i|x|*|*|*|*|-|-|0|*
1266|timetz|time with time zone|12|f|b|D|f|0|1270|d|p|timetz_in|timetz_out|timetz_recv|timetz_send|timetztypmodin|timetztypmodout|0|-
1270|_timetz||-1|f|b|A|f|1266|0|d|x|*|*|*|*|timetztypmodin|timetztypmodout|0|*
1560|bit||-1|f|b|V|f|0|1561|i|x|bit_in|bit_out|bit_recv|bit_send|bittypmodin|bittypmodout|0|-
1561|_bit||-1|f|b|A|f|1560|0|i|x|*|*|*|*|bittypmodin|bittypmodout|0|*
1562|varbit|bit varying|-1|f|b|V|t|0|1563|i|x|varbit_in|varbit_out|varbit_recv|varbit_send|varbittypmodin|varbittypmodout|0|-
1563|_varbit||-1|f|b|A|f|1562|0|i|x|*|*|*|*|varbittypmodin|varbittypmodout|0|*
1700|numeric||-1|f|b|N|f|0|1231|i|m|numeric_in|numeric_out|numeric_recv|numeric_send|numerictypmodin|numerictypmodout|0|-
1790|refcursor||-1|f|b|U|f|0|2201|i|x|textin|textout|textrecv|textsend|-|-|0|-
2201|_refcursor||-1|f|b|A|f|1790|0|i|x|*|*|*|*|-|-|0|*
2202|regprocedure||4|t|b|N|f|0|2207|i|p|regprocedurein|regprocedureout|regprocedurerecv|regproceduresend|-|-|0|-
2203|regoper||4|t|b|N|f|0|2208|i|p|regoperin|regoperout|regoperrecv|regopersend|-|-|0|-
2204|regoperator||4|t|b|N|f|0|2209|i|p|regoperatorin|regoperatorout|regoperatorrecv|regoperatorsend|-|-|0|-
2205|regclass||4|t|b|N|f|0|2210|i|p|regclassin|regclassout|regclassrecv|regclasssend|-|-|0|-
2206|regtype||4|t|b|N|f|0|2211|i|p|regtypein|regtypeout|regtyperecv|regtypesend|-|-|0|-
2207|_regprocedure||-1|f|b|A|f|2202|0|i|x|*|*|*|*|-|-|0|*
2208|_regoper||-1|f|b|A|f|2203|0|i|x|*|*|*|*|-|-|0|*
2209|_regoperator||-1|f|b|A|f|2204|0|i|x|*|*|*|*|-|-|0|*
2210|_regclass||-1|f|b|A|f|2205|0|i|x|*|*|*|*|-|-|0|*
2211|_regtype||-1|f|b|A|f|2206|0|i|x|*|*|*|*|-|-|0|*
2249|record||-1|f|p|P|f|0|2287|d|x|record_in|record_out|record_recv|record_send|-|-|0|-
2275|cstring||-2|f|p|P|f|0|1263|c|p|cstring_in|cstring_out|cstring_recv|cstring_send|-|-|0|-
2276|any|"any"|4|t|p|P|f|0|0|i|p|any_in|any_out|-|-|-|-|0|-
2277|anyarray||-1|f|p|P|f|0|0|d|x|anyarray_in|anyarray_out|anyarray_recv|anyarray_send|-|-|0|-
2278|void||4|t|p|P|f|0|0|i|p|void_in|void_out|void_recv|void_send|-|-|0|-
2279|trigger||4|t|p|P|f|0|0|i|p|trigger_in|trigger_out|-|-|-|-|0|-
2280|language_handler||4|t|p|P|f|0|0|i|p|language_handler_in|language_handler_out|-|-|-|-|0|-
2281|internal||8|t|p|P|f|0|0|d|p|internal_in|internal_out|-|-|-|-|0|-
2283|anyelement||4|t|p|P|f|0|0|i|p|anyelement_in|anyelement_out|-|-|-|-|0|-
2287|_record||-1|f|p|P|f|2249|0|d|x|*|*|*|*|-|-|0|*
2776|anynonarray||4|t|p|P|f|0|0|i|p|anynonarray_in|anynonarray_out|-|-|-|-|0|-
2950|uuid||16|f|b|U|f|0|2951|c|p|uuid_in|uuid_out|uuid_recv|uuid_send|-|-|0|-
2951|_uuid||-1|f|b|A|f|2950|0|i|x|*|*|*|*|-|-|0|*
3115|fdw_handler||4|t|p|P|f|0|0|i|p|fdw_handler_in|fdw_handler_out|-|-|-|-|0|-
3220|pg_lsn||8|t|b|U|f|0|3221|d|p|pg_lsn_in|pg_lsn_out|pg_lsn_recv|pg_lsn_send|-|-|0|-
3221|_pg_lsn||-1|f|b|A|f|3220|0|d|x|*|*|*|*|-|-|0|*
3310|tsm_handler||4|t|p|P|f|0|0|i|p|tsm_handler_in|tsm_handler_out|-|-|-|-|0|-
3500|anyenum||4|t|p|P|f|0|0|i|p|anyenum_in|anyenum_out|-|-|-|-|0|-
3734|regconfig||4|t|b|N|f|0|3735|i|p|regconfigin|regconfigout|regconfigrecv|regconfigsend|-|-|0|-
3735|_regconfig||-1|f|b|A|f|3734|0|i|x|*|*|*|*|-|-|0|*
3802|jsonb||-1|f|b|U|f|0|3807|i|x|jsonb_in|jsonb_out|jsonb_recv|jsonb_send|-|-|0|jsonb_subscript_handler
3807|_jsonb||-1|f|b|A|f|3802|0|i|x|*|*|*|*|-|-|0|*
3831|anyrange||-1|f|p|P|f|0|0|d|x|anyrange_in|anyrange_out|-|-|-|-|0|-
3838|event_trigger||4|t|p|P|f|0|0|i|p|event_trigger_in|event_trigger_out|-|-|-|-|0|-
4072|jsonpath||-1|f|b|U|f|0|4073|i|x|jsonpath_in|jsonpath_out|jsonpath_recv|jsonpath_send|-|-|0|-
4073|_jsonpath||-1|f|b|A|f|4072|0|i|x|*|*|*|*|-|-|0|*
4089|regnamespace||4|t|b|N|f|0|4090|i|p|regnamespacein|regnamespaceout|regnamespacerecv|regnamespacesend|-|-|0|-
4090|_regnamespace||-1|f|b|A|f|4089|0|i|x|*|*|*|*|-|-|0|*
4096|regrole||4|t|b|N|f|0|4097|i|p|regrolein|regroleout|regrolerecv|regrolesend|-|-|0|-
4097|_regrole||-1|f|b|A|f|4096|0|i|x|*|*|*|*|-|-|0|*
4191|regcollation||4|t|b|N|f|0|4192|i|p|regcollationin|regcollationout|regcollationrecv|regcollationsend|-|-|0|-
4192|_regcollation||-1|f|b|A|f|4191|0|i|x|*|*|*|*|-|-|0|*
4537|anymultirange||-1|f|p|P|f|0|0|d|x|anymultirange_in|anymultirange_out|-|-|-|-|0|-
4538|anycompatiblemultirange||-1|f|p|P|f|0|0|d|x|anycompatiblemultirange_in|anycompatiblemultirange_out|-|-|-|-|0|-
5077|anycompatible||4|t|p|P|f|0|0|i|p|anycompatible_in|anycompatible_out|-|-|-|-|0|-
5078|anycompatiblearray||-1|f|p|P|f|0|0|d|x|anycompatiblearray_in|anycompatiblearray_out|anycompatiblearray_recv|anycompatiblearray_send|-|-|0|-
5079|anycompatiblenonarray||4|t|p|P|f|0|0|i|p|anycompatiblenonarray_in|anycompatiblenonarray_out|-|-|-|-|0|-
5080|anycompatiblerange||-1|f|p|P|f|0|0|d|x|anycompatiblerange_in|anycompatiblerange_out|-|-|-|-|0|-
`
