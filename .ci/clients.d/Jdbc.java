import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** JDBC: prepared statements in text and binary, batches, metadata, cursors, COPY. */
public class Jdbc {
    static void check(boolean ok, String what) {
        if (!ok) throw new AssertionError(what);
    }

    static void same(Object got, Object want) {
        check(Objects.equals(got, want), got + ", want " + want);
    }

    public static void main(String[] args) throws Exception {
        String url = System.getenv("JDBC_URL");
        for (String extra : new String[] {"", "&prepareThreshold=-1", "&preferQueryMode=simple", "&binaryTransfer=false"}) run(url + extra, extra);
        System.out.println("JDBC ok");
    }

    static void run(String url, String mode) throws Exception {
        try (Connection c = DriverManager.getConnection(url)) {
            DatabaseMetaData md = c.getMetaData();
            same(md.getDatabaseProductName(), "PostgreSQL");
            check(md.getDatabaseMajorVersion() >= 15, "version");
            try (Statement s = c.createStatement()) {
                s.execute("DROP TABLE IF EXISTS jd_child; DROP TABLE IF EXISTS jd");
                s.execute("CREATE TABLE jd (id int PRIMARY KEY, name varchar(20) NOT NULL, n numeric(12,3), f float8, b boolean, d date, t time, ts timestamp, tz timestamptz, u uuid,"
                        + " by bytea, a int[], j jsonb, l bigint, sm smallint, r real)");
                s.execute("CREATE TABLE jd_child (id serial PRIMARY KEY, jd int REFERENCES jd (id))");
            }
            String insert = "INSERT INTO jd VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?, ?, ?)";
            UUID uuid = new UUID(1, 2);
            OffsetDateTime tz = OffsetDateTime.of(2024, 5, 6, 7, 8, 9, 123456000, ZoneOffset.UTC);
            try (PreparedStatement p = c.prepareStatement(insert)) {
                for (int i = 0; i < 200; i++) {
                    p.setInt(1, i);
                    p.setString(2, "name " + i);
                    p.setBigDecimal(3, new BigDecimal("1.125").multiply(new BigDecimal(i)));
                    p.setDouble(4, i / 7.0);
                    p.setBoolean(5, i % 2 == 0);
                    p.setObject(6, LocalDate.of(2024, 2, 29));
                    p.setObject(7, LocalTime.of(1, 2, 3));
                    p.setTimestamp(8, Timestamp.valueOf("2024-01-02 03:04:05.678"));
                    p.setObject(9, tz);
                    p.setObject(10, uuid);
                    p.setBytes(11, new byte[] {0, 1, (byte) 255});
                    p.setArray(12, c.createArrayOf("int4", new Integer[] {i, null}));
                    p.setString(13, "{\"k\": " + i + "}");
                    p.setLong(14, Long.MIN_VALUE + i);
                    p.setShort(15, (short) -i);
                    p.setFloat(16, 0.25f);
                    p.addBatch();
                }
                int[] counts = p.executeBatch();
                check(counts.length == 200 && counts[0] == 1, "batch " + Arrays.toString(counts));
            }
            try (PreparedStatement p = c.prepareStatement("SELECT * FROM jd WHERE id = ?")) {
                for (int round = 0; round < 10; round++) { // named, and binary, from the fifth time on
                    p.setInt(1, 7);
                    try (ResultSet r = p.executeQuery()) {
                        check(r.next(), "row");
                        same(r.getString("name"), "name 7");
                        same(r.getBigDecimal("n"), new BigDecimal("7.875"));
                        same(r.getDouble("f"), 1.0);
                        same(r.getBoolean("b"), false);
                        same(r.getObject("d", LocalDate.class), LocalDate.of(2024, 2, 29));
                        same(r.getObject("t", LocalTime.class), LocalTime.of(1, 2, 3));
                        same(r.getTimestamp("ts"), Timestamp.valueOf("2024-01-02 03:04:05.678"));
                        same(r.getObject("tz", OffsetDateTime.class).toInstant(), tz.toInstant());
                        same(r.getObject("u"), uuid);
                        check(Arrays.equals(r.getBytes("by"), new byte[] {0, 1, (byte) 255}), "bytes");
                        check(Arrays.equals((Integer[]) r.getArray("a").getArray(), new Integer[] {7, null}), "array");
                        same(r.getString("j"), "{\"k\": 7}");
                        same(r.getLong("l"), Long.MIN_VALUE + 7);
                        same(r.getShort("sm"), (short) -7);
                        same(r.getFloat("r"), 0.25f);
                        ResultSetMetaData m = r.getMetaData();
                        same(m.getColumnCount(), 16);
                        same(m.getColumnTypeName(3), "numeric");
                        same(m.getPrecision(3), 12);
                        same(m.getScale(3), 3);
                        same(m.getTableName(1), "jd");
                        same(m.isNullable(2), ResultSetMetaData.columnNoNulls);
                    }
                }
            }
            try (PreparedStatement p = c.prepareStatement("INSERT INTO jd_child (jd) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                p.setInt(1, 3);
                same(p.executeUpdate(), 1);
                try (ResultSet r = p.getGeneratedKeys()) {
                    check(r.next() && r.getInt("id") == 1, "generated key");
                }
            }
            metadata(md);
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(100);
                long sum = 0;
                try (ResultSet r = s.executeQuery("SELECT g FROM generate_series(1, 5000) g")) {
                    while (r.next()) sum += r.getLong(1);
                }
                same(sum, 12502500L);
                Savepoint sp = c.setSavepoint("sp");
                try {
                    s.execute("INSERT INTO jd (id, name) VALUES (1, 'twice')");
                    check(false, "unique did not hold");
                } catch (SQLException e) {
                    same(e.getSQLState(), "23505");
                }
                c.rollback(sp);
                s.execute("INSERT INTO jd (id, name) VALUES (1000, 'x')");
            }
            c.rollback();
            c.setAutoCommit(true);
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
                s.setQueryTimeout(1);
                try (ResultSet r = s.executeQuery("SELECT count(*) FROM jd")) {
                    check(r.last() && r.getInt(1) == 200, "count");
                }
                try {
                    s.executeQuery("SELECT count(*) FROM generate_series(1, 100000000000) g WHERE g % 7 = 3");
                    check(false, "no timeout");
                } catch (SQLException e) {
                    same(e.getSQLState(), "57014");
                }
            }
            if (!mode.contains("simple")) {
                CopyManager copy = c.unwrap(PGConnection.class).getCopyAPI();
                same(copy.copyIn("COPY jd (id, name) FROM STDIN CSV", new StringReader("2001,a\n2002,\"b,c\"\n")), 2L);
                StringWriter w = new StringWriter();
                same(copy.copyOut("COPY (SELECT id, name FROM jd WHERE id > 2000 ORDER BY id) TO STDOUT CSV", w), 2L);
                same(w.toString(), "2001,a\n2002,\"b,c\"\n");
                try {
                    copy.copyIn("COPY jd (id, name) FROM STDIN", new StringReader("x\ty\n"));
                    check(false, "a bad row was taken");
                } catch (SQLException e) {
                    same(e.getSQLState(), "22P02");
                }
            }
            if (!mode.contains("simple")) { // which has no parameter to declare void
                try (CallableStatement p = c.prepareCall("{? = call abs(?)}")) {
                    p.registerOutParameter(1, Types.INTEGER);
                    p.setInt(2, -7);
                    p.execute();
                    same(p.getInt(1), 7);
                }
            }
            try (CallableStatement p = c.prepareCall("{call upper(?)}")) {
                p.setString(1, "x");
                check(p.execute(), "a call has a result");
            }
            check(c.isValid(5), "valid");
            try (Statement s = c.createStatement()) {
                s.execute("DROP TABLE jd_child; DROP TABLE jd");
            }
        }
    }

    static List<String> list(ResultSet r, String column) throws SQLException {
        List<String> out = new ArrayList<>();
        try (r) {
            while (r.next()) out.add(r.getString(column));
        }
        return out;
    }

    static void metadata(DatabaseMetaData md) throws SQLException {
        same(list(md.getTables(null, "public", "jd%", new String[] {"TABLE"}), "TABLE_NAME"), List.of("jd", "jd_child"));
        same(list(md.getColumns(null, "public", "jd_child", "%"), "COLUMN_NAME"), List.of("id", "jd"));
        try (ResultSet r = md.getColumns(null, null, "jd", "n")) {
            check(r.next(), "column n");
            same(r.getInt("DATA_TYPE"), Types.NUMERIC);
            same(r.getInt("COLUMN_SIZE"), 12);
            same(r.getInt("DECIMAL_DIGITS"), 3);
        }
        same(list(md.getPrimaryKeys(null, "public", "jd"), "COLUMN_NAME"), List.of("id"));
        same(list(md.getImportedKeys(null, "public", "jd_child"), "PKTABLE_NAME"), List.of("jd"));
        same(list(md.getExportedKeys(null, "public", "jd"), "FKTABLE_NAME"), List.of("jd_child"));
        check(list(md.getIndexInfo(null, "public", "jd", true, false), "INDEX_NAME").contains("jd_pkey"), "index");
        check(list(md.getSchemas(), "TABLE_SCHEM").contains("public"), "schemas");
        check(list(md.getCatalogs(), "TABLE_CAT").contains("tributary"), "catalogs");
        check(list(md.getTypeInfo(), "TYPE_NAME").contains("int4"), "types");
        list(md.getTableTypes(), "TABLE_TYPE");
        list(md.getFunctions(null, null, "abs"), "FUNCTION_NAME");
        list(md.getProcedures(null, null, "%"), "PROCEDURE_NAME");
        list(md.getTablePrivileges(null, "public", "jd"), "GRANTEE");
        list(md.getBestRowIdentifier(null, "public", "jd", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME");
    }
}
