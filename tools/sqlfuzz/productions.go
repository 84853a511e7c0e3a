package main

// anyType are productions of every type.
var anyType = []string{
	"coalesce({T}, {T})", "CASE WHEN {b} THEN {T} ELSE {T} END", "CASE WHEN {b} THEN {T} WHEN {b} THEN {T} END", "nullif({T}, {T})",
	"greatest({T}, {T})", "least({T}, {T}, {T})", "CASE {A} WHEN {A} THEN {T} WHEN {A} THEN {T} ELSE {T} END",
}

// productions fail on no value.
var productions = map[typ][]string{
	"i2": {"({i2} % 7::smallint)", "({i2} & {i2})", "({i2} | {i2})", "({b})::int::smallint", "({i4} % 100)::smallint"},
	"i4": {"length({y})", "position({y} IN {y})", "extract(hour FROM {t})::int", "extract(minute FROM {tt})::int", "extract(timezone FROM {tt})::int", "bit_length({s})", "octet_length({y})", "({i4} % {k})", "({i4} / {k})", "(({i4} % 1000) + ({i4} % 1000))", "(({i4} % 1000) * ({i4} % 1000))", "(({i4} % 1000) - ({i4} % 1000))",
		"({i4} & {i4})", "({i4} | {i4})", "({i4} # {i4})", "(~ {i4})", "length({s})", "octet_length({s})", "({b})::int", "({i2})::int", "({i8} % 1000)::int", "strpos({s}, {s})",
		"cardinality({ai})", "array_length({as}, 1)", "({ai})[{k}]", "array_position({ai}, {i4})", "ascii({s})", "num_nulls({A}, {A}, {A})", "sign({i4})::int",
		"abs({i4} % 1000)", "(({i2})::int + {k})", "extract({tpart} FROM timestamp '2024-02-29 12:34:56' + ({i4} % 1000) * interval '1 hour')::int"},
	"i8": {"({i8} % {k})", "({i8} / {k})", "({i4}::bigint + {i4})", "({i4}::bigint * {i4})", "({i4}::bigint - {i4})", "({i4})::bigint", "({i8} & {i8})", "({i8} # {i8})", "(~ {i8})"},
	"n": {"extract(epoch FROM {t})", "extract(second FROM {t})", "({n} + {n})", "({n} - {n})", "({i8}::numeric * {i4})", "(- {n})", "abs({n})", "({i4})::numeric", "({i8})::numeric", "round({n}, {k})", "trunc({n}, {k})", "floor({n})", "ceil({n})", "sign({n})",
		"({n} / {k})", "({i4}::numeric / {k})", "extract({tpart} FROM timestamp '2001-02-03 04:05:06.789' + ({i4} % 100) * interval '1 min')", "({i4}::numeric % {k})", "round({i4}::numeric / 7, {k})"},
	"f": {"({i4})::float8", "({i2}::float8 * 0.25)", "(- {f})", "abs({f})", "floor({f})", "ceil({f})", "sign({f})", "({i4}::float8 / {k})", "sqrt(abs({i4}::float8))", "({i8})::float8", "(({i4})::float8 + ({i2})::float8)"},
	"s": {"encode({y}, 'hex')", "encode({y}, 'base64')", "encode({y}, 'escape')", "({y})::text", "({u})::text", "({t})::text", "({tt})::text", "({tz})::text", "md5({y})", "to_char({tz}, 'YYYY-MM-DD HH24:MI:SS TZ OF')", "({s} || {s})", "upper({s})", "lower({s})", "left({s}, {i4})", "right({s}, {k})", "substr({s}, {k})", "substr({s}, {k}, {k})", "replace({s}, 'a', {s})", "trim({s})", "btrim({s}, 'ax')", "reverse({s})",
		"lpad({s}, {k})", "rpad({s}, {k}, 'zy')", "concat({A}, {s})", "concat_ws('-', {s}, {A}, {s})", "({i4})::text", "({n})::text", "({b})::text", "({d})::text", "({ts})::text", "({iv})::text", "({i8})::text",
		"({j} ->> 'a')", "({j} #>> array['b','c'])", "split_part({s}, 'b', {k})", "translate({s}, 'ab', 'x')", "array_to_string({as}, ',', '*')", "array_to_string({ai}, '/')", "md5({s})", "initcap({s})", "to_hex({i4})",
		"substring({s} FROM {k} FOR {k})", "regexp_replace({s}, {regex}, '<\\&>', 'g')", "quote_literal({s})", "quote_nullable({s})", "jsonb_typeof({j})", "({as})[{k}]", "overlay({s} PLACING 'Q' FROM {k} FOR {k})", "({j})::text",
		"substring({s} FROM {regex})", "repeat({s} , {k})", "format('%s:%L', {A}, {s})"},
	"b": {"({y} LIKE 'a%'::bytea)", "(({u}, {t}) {cmp} ({u}, {t}))", "({tz} {cmp} {ts})", "({tz} {cmp} {d})", "({A} {cmp} {A})", "({A} {cmp} {A})", "({A} {cmp} {A})", "({i4} {cmp} {i8})", "({i4} {cmp} {n})", "({i8} {cmp} {f})", "({d} {cmp} {ts})", "({b} AND {b})", "({b} OR {b})", "(NOT {b})", "({A} IS NULL)", "({A} IS NOT NULL)",
		"({A} IS DISTINCT FROM {A})", "({A} IS NOT DISTINCT FROM {A})", "({A} IN ({A}, {A}, {A}))", "({A} NOT IN ({A}, {A}))", "({A} BETWEEN {A} AND {A})", "({A} NOT BETWEEN SYMMETRIC {A} AND {A})", "({b} IS TRUE)", "({b} IS NOT TRUE)",
		"({b} IS UNKNOWN)", "({b} IS NOT FALSE)", "({s} LIKE {like})", "({s} NOT LIKE {like})", "({s} ILIKE {like})", "({s} ~ {regex})", "({s} !~* {regex})", "starts_with({s}, {s})", "({i4} = ANY ({ai}))", "({i4} <> ALL ({ai}))", "({i4} < ANY ({ai}))",
		"({s} = ANY ({as}))", "({ai} @> {ai})", "({as} && {as})", "({ai} <@ {ai})", "({j} @> {j})", "({j} ? 'a')", "({j} -> 'a' {cmp} {j})", "(({A}, {i4}) {cmp} ({A}, {i4}))", "(({s}, {i4}) = ({s}, {i4}))",
		"(({i4}, {s}) IN (({i4}, {s}), ({i4}, {s})))", "isfinite({d})", "({i4} <> {i4})::boolean", "((({i4} % 5), {s}) IS NULL)", "(({d}, {d}) OVERLAPS ({d}, {d}))", "({ts} {cmp} {d})"},
	"d":  {"date '2000-01-01' + ({i4} % 10000)", "make_date(2000, {k}, {k})", "(date '2020-01-31' + ({i4} % 50) * interval '1 month')::date"},
	"ts": {"(timestamptz '2000-06-01 00:00+00' + ({i4} % 1000) * interval '1 day') AT TIME ZONE 'Europe/Berlin'", "({d})::timestamp", "timestamp '2000-01-01' + ({i4} % 100000) * interval '1 minute'", "date_trunc('{tpart}', timestamp '2000-01-01' + ({i4} % 100000) * interval '1 hour')", "(timestamp '2024-03-31' - ({i4} % 40) * interval '1 month')"},
	"iv": {"({t} - {t})", "({t})::interval", "(({i4} % 1000) * interval '1 hour')", "(({i2} % 100::smallint) * interval '1 day 02:00')", "make_interval(days => {i2}, hours => ({i4} % 100))", "(timestamp '2020-01-01' - (timestamp '2000-01-01' + ({i4} % 100000) * interval '1 minute'))",
		"age(timestamp '2000-01-01' + ({i4} % 100000) * interval '1 hour', timestamp '2010-05-31')", "justify_hours(({i4} % 1000) * interval '1 hour')"},
	"j": {"({j} -> 'a')", "({j} -> {k})", "({j} #> array['b','0'])", "to_jsonb({i4})", "to_jsonb({s})", "to_jsonb({b})", "to_jsonb({ai})", "jsonb_build_array({i4}, {s}, {j})", "jsonb_build_object('k', {A}, 'l', {j})", "(CASE WHEN jsonb_typeof({j}) = 'object' THEN jsonb_build_object() END)",
		"jsonb_strip_nulls({j})", "to_jsonb({as})", "jsonb_build_array({A}, {d}, {ts})"},
	"ai": {"array[{i4}, {i4}]", "({ai} || {i4})", "({i4} || {ai})", "({ai} || {ai})", "array_remove({ai}, {i4})", "array_replace({ai}, {i4}, {i4})", "({ai})[{k}:{k}]", "array_append({ai}, {i4})"},
	"as": {"array[{s}, {s}]", "({as} || {as})", "array_append({as}, {s})", "string_to_array({s}, 'b')", "({ai})::text[]", "array_remove({as}, {s})", "({as})[{k}:{k}]", "regexp_split_to_array({s}, '[ab]')"},
	"y":  {"({y} || {y})", "decode(md5({s}), 'hex')", "substring({y} FROM {k} FOR {k})", "convert_to({s}, 'UTF8')", "sha256({y})", "btrim({y}, {y})", "overlay({y} PLACING {y} FROM {k})", "substr({y}, {k})"},
	"t":  {"({ts})::time", "make_time({k}, {k}, 1.5)", "({t} + ({i4} % 1000) * interval '1 minute')", "({t} - interval '1 hour')", "({tz})::time"},
	"tt": {"({t})::timetz", "({tt} + ({i4} % 1000) * interval '1 minute')", "({tt} AT TIME ZONE interval '2 hours')"},
	"tz": {"to_timestamp({i4})", "((timestamp '2000-01-01' + ({i4} % 100000) * interval '1 hour') AT TIME ZONE 'America/New_York')", "(timestamptz '2024-03-30 12:00+00' + ({i4} % 100) * interval '1 day')", "date_trunc('{tpart}', timestamptz '2020-02-03 04:05:06+00' + ({i4} % 1000) * interval '1 hour', 'Asia/Kolkata')"},
	"u":  {"md5({s})::uuid", "({u})::text::uuid"},
}

// risky ones fail on some values: too large, not a number, a division by zero.
var risky = map[typ][]string{
	"i2": {"({i2} + {i2})", "({i4})::smallint", "({i2} / {i2})", "(- {i2})"},
	"i4": {"get_byte({y}, {k})", "get_bit({y}, {k})", "({i4} + {i4})", "({i4} * {i4})", "({i4} / {i4})", "({i4} % {i4})", "(- {i4})", "abs({i4})", "({i8})::int", "({n})::int", "({f})::int", "({s})::int", "({j})::int", "({d} - {d})", "mod({i4}, {i4})", "({i4} << ({i4} & 31))", "gcd({i4}, {i4})"},
	"i8": {"({i8} + {i8})", "({i8} * {i8})", "({i8} / {i4})", "({n})::bigint", "({f})::bigint", "({s})::bigint", "abs({i8})", "div({i8}::numeric, {i4}::numeric)::bigint"},
	"n":  {"extract({tpart} FROM {tz})", "({n} * {n})", "({n} / {n})", "({n} % {n})", "({s})::numeric", "({f})::numeric", "sqrt({n})", "({n})::numeric(8,3)", "power({n}, {k})", "ln({n})", "extract({dpart} FROM {d})", "extract({tpart} FROM {ts})", "extract(epoch FROM {ts})", "extract(epoch FROM {iv})"},
	"f":  {"({f} + {f})", "({f} * {f})", "({f} / {f})", "({n})::float8", "({s})::float8", "sqrt({f})", "ln({f})", "power({f}, {k})", "width_bucket({f}, 0::float8, 10::float8, {k})::float8"},
	"s":  {"convert_from({y}, 'UTF8')", "to_char({tz}, 'Day DDD WW IYYY-IW-ID Q J')", "chr({i4})", "to_char({n}, 'FM999,990.00')", "to_char({ts}, 'YYYY-MM-DD HH24:MI:SS.US')", "to_char({i4}, 'S0999')", "to_char({d}, 'Dy DD Mon YYYY BC IW')", "overlay({s} PLACING {s} FROM {i4})", "substr({s}, {i4}, {i4})", "split_part({s}, {s}, {i4})", "to_char({iv}, 'DD HH24:MI')"},
	"b":  {"({s})::boolean", "({j})::boolean", "({s} LIKE {s})", "({ts} - {ts} {cmp} {iv})"},
	"d":  {"({d} + {i4})", "({d} - {i4})", "({ts})::date", "({s})::date", "make_date({i4}, {i4}, {i4})"},
	"ts": {"({tz} AT TIME ZONE 'America/New_York')", "({d} + {t})", "({ts} + {iv})", "({ts} - {iv})", "({d} + {iv})", "date_trunc('{tpart}', {ts})", "({s})::timestamp"},
	"iv": {"({tz} - {tz})", "age({tz}, {tz})", "({iv} + {iv})", "({iv} * {f})", "({iv} / {k})", "({ts} - {ts})", "age({ts}, {ts})", "justify_interval({iv})", "(- {iv})", "({s})::interval"},
	"j":  {"jsonb_set({j}, array['a'], {j})", "({j} || {j})", "({j} - 'a')", "({j} - {k})", "({s})::jsonb", "jsonb_insert({j}, array['b','0'], {j})", "to_jsonb({n})", "to_jsonb({f})"},
	"ai": {"string_to_array({s}, ',')::int[]", "array_fill({i4}, array[{i2}])", "trim_array({ai}, {k})"},
	"as": {"({s})::text[]", "trim_array({as}, {k})"},
	"y":  {"set_byte({y}, {k}, {i4})", "decode({s}, 'hex')", "decode({s}, 'base64')", "({s})::bytea"},
	"t":  {"({s})::time", "({t} + {iv})", "make_time({i4}, {i4}, {f})"},
	"tz": {"({s})::timestamptz", "({tz} + {iv})", "({ts} AT TIME ZONE 'Europe/Berlin')", "({ts})::timestamptz", "date_trunc('{tpart}', {tz})", "({tz} - {iv})"},
	"tt": {"({s})::timetz", "({tz})::timetz"},
	"u":  {"({s})::uuid"},
}

// aggregates give the same in any order of their input.
var aggregates = map[typ][]string{
	"i2": {"min({i2})", "max({i2})", "bit_and({i2})"},
	"i4": {"count(DISTINCT {y})::int", "count(DISTINCT ({u}, {tt}))::int", "min({i4})", "max({i4})", "bit_or({i4})", "count({A})::int", "bit_xor({i4})"},
	"i8": {"count(*)", "count({A})", "count(DISTINCT {A})", "sum({i4})", "sum(DISTINCT {i4})", "sum({i2})", "min({i8})", "max({i8})"},
	"n":  {"sum({i8})", "avg({i4})", "avg({i8})", "min({i8}::numeric)", "sum({n})", "avg(DISTINCT {i4})", "var_pop({i4})", "stddev_samp({i2})", "sum(DISTINCT {i8})"},
	"f":  {"sum({i2}::float8 * 0.25)", "avg({i2}::float8 * 0.25)", "min({i4}::float8)", "max({i2}::float8)", "corr(({i4} % 10)::float8, ({i4} % 7)::float8)", "regr_count({f}, {f})::float8", "percentile_cont(0.5) WITHIN GROUP (ORDER BY ({i4})::float8)"},
	"s":  {"min({s})", "max({s})", "string_agg(DISTINCT {s}, ',')", "percentile_disc(0.25) WITHIN GROUP (ORDER BY {s})"},
	"b":  {"bool_and({b})", "bool_or({b})", "every({b})", "(count({A}) > 2)"},
	"d":  {"min({d})", "max({d})", "mode() WITHIN GROUP (ORDER BY {d})"},
	"ts": {"min({ts})", "max({ts})"},
	"iv": {"sum(({i4} % 100) * interval '1 hour')", "max(({i4} % 100) * interval '1 hour')"},
	"j":  {"to_jsonb(count({A}))", "jsonb_agg(DISTINCT {i4})", "to_jsonb(max({s}))"},
	"ai": {"array_agg(DISTINCT {i4})", "array_agg(DISTINCT {i4})"},
	"as": {"array_agg(DISTINCT {s})", "array_agg(DISTINCT {s})"},
	"y":  {`string_agg(DISTINCT {y}, '\x2c'::bytea)`},
	"t":  {"min({t})", "max({t})"},
	"tt": {"min({tt})", "max({tt})"},
	"tz": {"min({tz})", "max({tz})"},
	"u":  {"(array_agg(DISTINCT {u}))[1]"},
}
