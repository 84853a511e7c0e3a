import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.*;
import org.flywaydb.core.Flyway;
import org.jooq.DSLContext;
import org.jooq.Field;
import org.jooq.Record;
import org.jooq.SQLDialect;
import org.jooq.Table;
import org.jooq.codegen.GenerationTool;
import org.jooq.impl.DSL;
import org.jooq.meta.jaxb.Configuration;
import org.jooq.meta.jaxb.Database;
import org.jooq.meta.jaxb.Generator;
import org.jooq.meta.jaxb.Jdbc;
import org.jooq.meta.jaxb.Logging;
import org.jooq.meta.jaxb.Target;

/** Flyway migrates twice, several at once; jOOQ writes classes from the catalogs and runs what it builds. The argument is a folder to write to. */
public class JooqFlyway {
    static void check(boolean ok, String what) {
        if (!ok) throw new AssertionError(what);
    }

    public static void main(String[] args) throws Exception {
        String url = System.getenv("JDBC_URL");
        Path dir = Path.of(args[0]);
        flyway(url, dir.resolve("sql"));
        jooq(url, dir.resolve("java"));
        try (Connection c = DriverManager.getConnection(url); Statement s = c.createStatement()) {
            s.execute("DROP SCHEMA fw CASCADE");
        }
        System.out.println("Flyway and jOOQ " + org.jooq.Constants.FULL_VERSION + " ok");
    }

    static void flyway(String url, Path dir) throws Exception {
        Files.createDirectories(dir);
        Files.writeString(dir.resolve("V1__first.sql"), "CREATE TABLE author (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date);\nINSERT INTO author (name) VALUES ('a'), ('b');\n");
        Files.writeString(dir.resolve("V2__second.sql"), "CREATE TYPE genre AS ENUM ('novel', 'poem');\n"
                + "CREATE TABLE book (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author int NOT NULL REFERENCES author (id), title text, price numeric(10,2) DEFAULT 1.50,"
                + " tags text[], doc jsonb, g genre, at timestamptz DEFAULT now(), CHECK (price > 0));\nCREATE INDEX ON book (author, title);\nCREATE VIEW titles AS SELECT title, name FROM book b JOIN author a ON a.id = b.author;\n");
        Flyway[] all = new Flyway[3];
        Thread[] threads = new Thread[all.length];
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < all.length; i++) {
            Flyway f = all[i] = Flyway.configure().dataSource(url, "tributary", "").schemas("fw").locations("filesystem:" + dir).load();
            threads[i] = new Thread(() -> {
                try {
                    ran.add(f.migrate().migrationsExecuted);
                } catch (Throwable e) {
                    failures.add(e);
                }
            });
            threads[i].start();
        }
        for (Thread t : threads) t.join();
        if (!failures.isEmpty()) throw new AssertionError(failures.get(0));
        check(ran.stream().mapToInt(Integer::intValue).sum() == 2, "migrations ran " + ran);
        Files.writeString(dir.resolve("V3__third.sql"), "ALTER TABLE author ADD COLUMN note text DEFAULT 'n';\n");
        check(all[0].migrate().migrationsExecuted == 1 && all[0].migrate().migrationsExecuted == 0, "the third migration runs once");
        all[0].validate();
        check(all[0].info().applied().length >= 3, "info");
    }

    static void jooq(String url, Path dir) throws Exception {
        GenerationTool.generate(new Configuration().withLogging(Logging.WARN)
                .withJdbc(new Jdbc().withDriver("org.postgresql.Driver").withUrl(url))
                .withGenerator(new Generator()
                        .withDatabase(new Database().withName("org.jooq.meta.postgres.PostgresDatabase").withIncludes(".*").withInputSchema("fw").withExcludes("flyway_.*"))
                        .withTarget(new Target().withPackageName("made").withDirectory(dir.toString()))));
        String book = Files.readString(dir.resolve("made/tables/Book.java"));
        for (String want : new String[] {"NUMERIC(10, 2)", "identity(true)", "JSONB", "Genre", "CLOB.array()"}) check(book.contains(want), "Book.java has no " + want);
        check(Files.readString(dir.resolve("made/Keys.java")).contains("BOOK__BOOK_AUTHOR_FKEY"), "no foreign key");
        check(Files.readString(dir.resolve("made/Indexes.java")).contains("BOOK_AUTHOR_TITLE_IDX"), "no index");
        check(Files.readString(dir.resolve("made/enums/Genre.java")).contains("novel"), "no enum");
        check(Files.exists(dir.resolve("made/tables/Titles.java")), "no view");
        System.setProperty("org.jooq.no-logo", "true");
        System.setProperty("org.jooq.no-tips", "true");
        try (Connection c = DriverManager.getConnection(url)) {
            DSLContext d = DSL.using(c, SQLDialect.POSTGRES);
            Table<Record> a = DSL.table(DSL.name("fw", "author")), b = DSL.table(DSL.name("fw", "book"));
            Field<Integer> id = DSL.field(DSL.name("fw", "author", "id"), Integer.class), of = DSL.field(DSL.name("author"), Integer.class);
            Field<String> name = DSL.field(DSL.name("fw", "author", "name"), String.class), title = DSL.field(DSL.name("title"), String.class);
            check(d.insertInto(b, of, title).values(1, "x").values(1, "y").values(2, "z").returningResult(DSL.field(DSL.name("id"), Long.class)).fetch().getValues(0).equals(List.of(1L, 2L, 3L)), "returning");
            check(d.insertInto(a).set(DSL.field(DSL.name("name"), String.class), "a").set(DSL.field(DSL.name("note"), String.class), "again")
                    .onConflict(DSL.field(DSL.name("name"))).doUpdate().set(DSL.field(DSL.name("note"), String.class), DSL.excluded(DSL.field(DSL.name("note"), String.class))).execute() == 1, "upsert");
            var nested = d.select(name, DSL.multiset(DSL.select(title).from(b).where(of.eq(id)).orderBy(title)).as("books")).from(a).orderBy(name).fetch();
            check(nested.size() == 2 && nested.get(0).value2().size() == 2, "multiset");
            var seek = d.select(name).from(a).orderBy(name).seek("a").limit(1).fetch();
            check(seek.size() == 1 && seek.get(0).value1().equals("b"), "seek");
            check(d.meta().getTables("book").size() == 1 && !d.meta().getTables("book").get(0).getReferences().isEmpty(), "meta");
            d.transaction(t -> check(t.dsl().selectFrom(b).where(title.eq("x")).forUpdate().fetch().size() == 1, "for update"));
        }
    }
}
