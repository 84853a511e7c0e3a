// golang-migrate, with both of its drivers: migrations of several statements under an advisory lock, up at once, down, and a failure that leaves its mark.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/database/postgres"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	_ "github.com/lib/pq"
)

var files = fstest.MapFS{
	"1_first.up.sql":    {Data: []byte("CREATE TABLE gm (id serial PRIMARY KEY, t text UNIQUE);\nINSERT INTO gm (t) VALUES ('a'), ('b');\n")},
	"1_first.down.sql":  {Data: []byte("DROP TABLE gm;")},
	"2_second.up.sql":   {Data: []byte("BEGIN;\nALTER TABLE gm ADD COLUMN n int DEFAULT 1;\nCREATE VIEW gm_v AS SELECT t, n FROM gm;\nCOMMIT;\n")},
	"2_second.down.sql": {Data: []byte("DROP VIEW gm_v; ALTER TABLE gm DROP COLUMN n;")},
	"3_third.up.sql":    {Data: []byte("SELECT 1/0;")},
	"3_third.down.sql":  {Data: []byte("SELECT 1;")},
}

func open(url string) *migrate.Migrate {
	source, err := iofs.New(files, ".")
	check(err)
	m, err := migrate.NewWithSourceInstance("iofs", source, url)
	check(err)
	return m
}

func check(err error) {
	if err != nil {
		log.Fatal("golang-migrate: ", err)
	}
}

func want(ok bool, what ...any) {
	if !ok {
		log.Fatal(append([]any{"golang-migrate: "}, what...)...)
	}
}

func main() {
	url := os.Getenv("URL")
	for _, u := range []string{url, strings.Replace(url, "postgres://", "pgx5://", 1)} {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				m := open(u)
				if err := m.Migrate(2); !errors.Is(err, migrate.ErrNoChange) {
					check(err)
				}
				m.Close()
			})
		}
		both.Wait()
		m := open(u)
		err := m.Up()
		want(err != nil && strings.Contains(err.Error(), "division by zero"), "the third migration: ", err)
		v, dirty, err := m.Version()
		check(err)
		want(v == 3 && dirty, "version ", v, dirty)
		check(m.Force(2))
		db, err := sql.Open("postgres", url)
		check(err)
		var n int
		check(db.QueryRow("SELECT sum(n) FROM gm_v WHERE t <> $1", "z").Scan(&n))
		want(n == 2, "rows ", n)
		check(m.Down())
		m.Close()
		_, err = db.Exec("DROP TABLE schema_migrations")
		check(err)
		db.Close()
	}
	fmt.Println("golang-migrate: lib/pq and pgx")
}
