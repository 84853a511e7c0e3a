\set x 1
\if :x
\echo one
\elif true
\echo no
\else
\echo no `false; exit 1`
\endif
\if off
  select 'skipped';
  \if on
  \echo inner \endif \echo still
  quit
\elif yes
  \echo elif
\else
  \echo else
\endif
select
\if off
1
\else
2
\endif
as inline;
\if maybe
\echo a
\else
\echo b
\endif
\else
\if :{?n}
\echo n is set
\else
\echo n is not set
\endif
select * from (values ('a','x',1),('a','y',2),('b','x',3),('c',null,4)) t(v,h,d) \crosstabview
select * from (values ('a','x',1,3),('a','y',2,1),('b','z',3,2)) t(v,h,d,s) \crosstabview v h d s
select * from (values ('a','x',1),('a','x',2)) t(v,h,d) \crosstabview
select 1, 2 \crosstabview
create view v1 as select 1 as one, 2 as two;
\sv v1
\sv+ v1
\sf abs
\prompt 'name? ' who
Ann B
\echo hello :who
create role ann login;
\password ann
secret
other
\password ann
secret
secret
select left(rolpassword, 14) as scheme from pg_authid where rolname = 'ann';
values ('one', 1), ('two', 2), ('three', -1.5) \chart
select i, i * i as square from generate_series(1, 40) i \chart line i square
select i % 3 as k from generate_series(1, 9) i;
\chart histogram k 3
\chart bar nothing
select 'a' \chart
show databases;
.schema v1
select 1 as a, 'x'::varchar(5) as b, now() as c \gdesc
create table t1 (a int) \gdesc
\dtS pg_cla*
\ir nowhere.sql
\if true
