//! sqlx: what query! asks for when it compiles (describe, with its EXPLAIN in JSON), parameters and rows, an error, migrations under an advisory lock.
use sqlx::migrate::{Migration, MigrationSource, MigrationType, Migrator};
use sqlx::postgres::{PgConnection, PgPoolOptions};
use sqlx::{Column, Connection, Executor, Row, TypeInfo};

#[derive(Debug)]
struct Migrations;
impl<'s> MigrationSource<'s> for Migrations {
    fn resolve(self) -> std::pin::Pin<Box<dyn std::future::Future<Output = Result<Vec<Migration>, sqlx::error::BoxDynError>> + Send + 's>> {
        let m = |v, sql: &'static str| Migration::new(v, format!("m{v}").into(), MigrationType::Simple, sql.into(), false);
        Box::pin(async move {
            Ok(vec![
                m(1, "CREATE TABLE sx (id serial PRIMARY KEY, t text NOT NULL, n numeric); CREATE INDEX ON sx (t)"),
                m(2, "ALTER TABLE sx ADD COLUMN j jsonb; INSERT INTO sx (t) VALUES ('a')"),
            ])
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("URL")?;
    let pool = PgPoolOptions::new().max_connections(4).connect(&url).await?;
    let migrator = Migrator::new(Migrations).await?;
    let (a, b) = tokio::join!(migrator.run(&pool), migrator.run(&pool));
    a?;
    b?;
    assert_eq!(sqlx::query("SELECT 1 FROM sx").fetch_all(&pool).await?.len(), 1, "the migrations ran once");

    let mut c = PgConnection::connect(&url).await?;
    let d = (&mut c).describe("SELECT id, t, n, j, count(*) OVER () AS c FROM sx WHERE t = $1 AND id > $2").await?;
    let types: Vec<String> = d.columns().iter().map(|c| c.type_info().name().to_string()).collect();
    assert_eq!(types, ["INT4", "TEXT", "NUMERIC", "JSONB", "INT8"]);
    assert_eq!((0..3).map(|i| d.nullable(i)).collect::<Vec<_>>(), [Some(false), Some(false), Some(true)]);
    let d = (&mut c).describe("SELECT a.t, b.t AS u FROM sx a LEFT JOIN sx b ON b.id = a.id + 1").await?;
    assert_eq!((0..2).map(|i| d.nullable(i)).collect::<Vec<_>>(), [Some(false), Some(true)], "what EXPLAIN says of an outer join");

    for _ in 0..3 {
        let e = sqlx::query("SELECT $1::int FROM mispelt").bind(1).fetch_all(&mut c).await.unwrap_err();
        assert_eq!(e.as_database_error().and_then(|e| e.code()).as_deref(), Some("42P01"));
    }
    let mut tx = c.begin().await?;
    let id: i32 = sqlx::query("INSERT INTO sx (t) VALUES ($1) RETURNING id").bind("b").fetch_one(&mut *tx).await?.get(0);
    assert_eq!(id, 2);
    tx.rollback().await?;
    let rows = sqlx::query("SELECT t FROM sx WHERE id = ANY($1)").bind(vec![1, 2]).fetch_all(&mut c).await?;
    assert_eq!(rows.len(), 1);
    sqlx::query("DROP TABLE sx, _sqlx_migrations").execute(&mut c).await?;
    println!("sqlx: migrations, describe, queries");
    Ok(())
}
