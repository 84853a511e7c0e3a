select md5(string_agg(t::text, '|' order by id)) from types_all t
select m, count(*) from types_all group by m order by m
select count(*), sum(price), sum(twice), max(at) from shop.sale
select md5(string_agg(c::text, '|' order by id)) from shop.customer c
select * from shop.top
select count(*), sum(spent) from shop.spent
select last_value from shop.numbers
select obj_description('shop.sale'::regclass)
select net(120), grade(0.9), grade(0.1), grade(null)
select has_table_privilege('reader', 'shop.sale', 'select'), has_table_privilege('reader', 'shop.customer', 'insert'), has_schema_privilege('reader', 'shop', 'usage'), pg_has_role('reader', 'writers', 'member')
select name, recurring, statement from cluster.schedules
select relname, relkind, relacl from pg_class where relname in ('sale', 'customer', 'top', 'spent', 'numbers', 'types_all', 'types_t', 'types_u') order by relname
select conname, contype, pg_get_constraintdef(oid) from pg_constraint order by 1
select name, version, algorithm, sha256 from ml.model_versions where name not in ('walked', 'long') order by name, version
select predict('logistic_regression', d2), predict('gradient_boosted_trees', d2), predict('random_forest', d2), predict('mlp', d2), predict('prepared', d2), predict('searched', d2), predict('linear_svm', d2) from d2 order by x0 limit 20
select predict('ridge', dr), predict('lasso', dr), predict('elastic_net', dr), predict('linear_regression', dr), predict('huber_regression', dr), predict('quantile_regression', dr) from dr order by x0 limit 20
select predict('kmeans', db), predict('grouped', ds) from db, ds where ds.id < 5 order by db.x0, ds.id limit 20
select predict('cox_regression', dt), predict('time_to_event', dt) from dt order by x0 limit 20
select trial, state, objective from ml.trials where model = 'searched' order by trial
select setting from cluster.settings where name = 'tributary.distribute_rows'
select a.algorithm from ml.algorithms a where not exists (select from ml.models m where m.algorithm = a.algorithm)
