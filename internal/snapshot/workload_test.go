//go:build unix

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"
)

// workload does random things to a database: rows, overflowing blobs, indexes, tables of several kinds, transactions that
// are rolled back, savepoints, caches so small that dirty pages are written early, VACUUM.
type workload struct {
	c       *sqlite.Conn
	r       *rand.Rand
	budget  int64             // bytes that the database should not exceed by much
	blob    int               // size of the largest blob
	counter int               // row in the table of counters that a committed transaction raises; 0 for none
	publish func(value int64) // called after such a commit
	recent  []string
	done    map[string]int
}

const baseSchema = `
	CREATE TABLE counters (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
	WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 8) INSERT INTO counters SELECT i, 0 FROM c;
	CREATE TABLE t0 (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB);
	CREATE INDEX t0k ON t0 (k);
	CREATE VIRTUAL TABLE fts USING fts5(a);
	CREATE VIRTUAL TABLE box USING rtree(id, x0, x1, y0, y1)`

// try runs a statement. What may go wrong in such a crowd is no failure; anything else is a panic.
func (w *workload) try(sql string, args ...any) bool {
	var o *zsqlitex.ExecOptions
	if len(args) > 0 {
		o = &zsqlitex.ExecOptions{Args: args}
	}
	err := zsqlitex.ExecuteTransient(w.c, sql, o)
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultOK:
		return true
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultError, sqlite.ResultConstraint, sqlite.ResultSchema, sqlite.ResultProtocol:
		return false
	}
	panic(fmt.Sprintf("%s: %v\nbefore that:\n%s", sql, err, strings.Join(w.recent, "\n")))
}

func (w *workload) number(sql string) (n int64) {
	_ = zsqlitex.ExecuteTransient(w.c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n
}

func tables(c *sqlite.Conn) (names []string, err error) {
	err = zsqlitex.ExecuteTransient(c, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '[tw][0-9]' ORDER BY 1", &zsqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			names = append(names, s.ColumnText(0))
			return nil
		},
	})
	return names, err
}

func (w *workload) chance(of int) bool { return w.r.IntN(of) == 0 }

func (w *workload) bytes() []byte {
	n := w.r.IntN(100)
	switch w.r.IntN(12) {
	case 0:
		n = w.r.IntN(w.blob)
	case 1, 2:
		n = w.r.IntN(min(w.blob, 9000))
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(w.r.Uint32())
	}
	return b
}

func (w *workload) text() string {
	return fmt.Sprintf("%06x word%d %s", w.r.IntN(1<<24), w.r.IntN(40), strings.Repeat("s", w.r.IntN(50)))
}

// change changes rows of one table.
func (w *workload) change(table string) {
	k := w.r.IntN(400)
	switch w.r.IntN(8) {
	case 0, 1, 2:
		for range 1 + w.r.IntN(10) {
			w.try("INSERT OR REPLACE INTO "+table+" (k, s, b) VALUES (?, ?, ?)", w.r.IntN(400), w.text(), w.bytes())
		}
	case 3:
		for range 1 + w.r.IntN(70) {
			w.try("INSERT OR REPLACE INTO "+table+" (k, s, b) VALUES (?, ?, ?)", w.r.IntN(400), w.text(), w.bytes())
		}
	case 4:
		w.try("UPDATE "+table+" SET k = k + 1 WHERE k BETWEEN ? AND ?", k, k+w.r.IntN(30))
	case 5:
		w.try("UPDATE "+table+" SET b = ?, s = ? || k WHERE k = ?", w.bytes(), w.text(), k)
	case 6:
		w.try("DELETE FROM "+table+" WHERE k BETWEEN ? AND ?", k, k+w.r.IntN(40))
	case 7:
		w.try("UPDATE "+table+" SET b = zeroblob(?) WHERE k BETWEEN ? AND ?", w.r.IntN(4000), k, k+w.r.IntN(5))
	}
}

// end ends a transaction, if one is open, one time in a few by ROLLBACK.
func (w *workload) end() {
	if w.c.AutocommitEnabled() {
		return
	}
	var n int64
	if w.counter > 0 {
		w.try("UPDATE counters SET n = n + 1 WHERE id = ?", w.counter)
		n = w.number(fmt.Sprintf("SELECT n FROM counters WHERE id = %d", w.counter))
	}
	if !w.chance(4) && w.try("COMMIT") {
		if w.counter > 0 {
			w.publish(n)
		}
		return
	}
	w.try("ROLLBACK")
}

func (w *workload) begin() bool { return w.try("BEGIN IMMEDIATE") }

// step does one random thing.
func (w *workload) step() {
	names, err := tables(w.c)
	if err != nil || len(names) == 0 {
		w.try("CREATE TABLE t0 (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)")
		return
	}
	pick := func() string { return names[w.r.IntN(len(names))] }
	table := pick()
	defer w.end()
	if w.number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") > w.budget && w.chance(2) {
		w.note("shrink " + table)
		w.try("DELETE FROM " + table + " WHERE k % 3 = 0 OR length(b) > 2000")
		return
	}
	digit := w.r.IntN(7)
	switch p := w.r.IntN(100); {
	case p < 30:
		w.note("change " + table)
		if w.chance(2) || w.begin() {
			w.change(table)
		}
	case p < 50:
		w.note("transaction")
		if w.begin() {
			for range 1 + w.r.IntN(6) {
				w.change(pick())
			}
		}
	case p < 60:
		w.note("spill")
		w.try(fmt.Sprintf("PRAGMA cache_size = %d", 1+w.r.IntN(12)))
		if w.begin() {
			for range 4 + w.r.IntN(6) {
				w.change(pick())
			}
		}
		w.end()
		w.try(fmt.Sprintf("PRAGMA cache_size = %d", 10+w.r.IntN(2000)))
	case p < 70:
		w.note("savepoints")
		w.savepoints(pick)
	case p < 74:
		w.note("create")
		if w.chance(3) {
			w.try(fmt.Sprintf("CREATE TABLE w%d (k INT, s TEXT, b BLOB, PRIMARY KEY (k, s)) WITHOUT ROWID", digit))
			break
		}
		w.try(fmt.Sprintf("CREATE TABLE t%d (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)", digit))
		w.try(fmt.Sprintf("CREATE INDEX t%dk ON t%d (k)", digit, digit))
	case p < 76:
		if len(names) > 2 {
			w.note("drop " + table)
			w.try("DROP TABLE " + table)
		}
	case p < 82:
		w.note("index " + table)
		if !w.try(fmt.Sprintf("CREATE INDEX %sx%d ON %s (s, length(b))", table, digit%3, table)) {
			w.try(fmt.Sprintf("DROP INDEX %sx%d", table, digit%3))
		}
	case p < 84:
		w.note("alter " + table)
		if !w.try(fmt.Sprintf("ALTER TABLE %s ADD COLUMN x%d DEFAULT %d", table, digit%4, w.r.IntN(1000))) {
			w.try(fmt.Sprintf("ALTER TABLE %s DROP COLUMN x%d", table, digit%4))
		}
	case p < 88:
		w.note("fts")
		w.try("INSERT INTO fts SELECT s FROM " + table + " LIMIT 50")
		if w.chance(3) {
			w.try(fmt.Sprintf("DELETE FROM fts WHERE rowid %% 5 = %d", digit%5))
		}
		if w.chance(6) {
			w.try("INSERT INTO fts (fts) VALUES ('optimize')")
		}
	case p < 92:
		w.note("rtree")
		w.try("INSERT OR REPLACE INTO box SELECT k, k, k + 5, length(s), length(s) + 3 FROM " + table + " LIMIT 60")
		w.try(fmt.Sprintf("DELETE FROM box WHERE x0 > %d AND x1 < %d", digit*40, digit*40+60))
	case p < 95:
		w.note("incremental vacuum")
		w.try(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", w.r.IntN(200)))
	case p < 96:
		w.note("vacuum")
		if w.chance(3) {
			w.try("PRAGMA auto_vacuum = " + []string{"NONE", "FULL", "INCREMENTAL"}[w.r.IntN(3)])
		}
		w.try("VACUUM")
	case p < 98:
		w.note("empty " + table)
		w.try("DELETE FROM " + table)
	default:
		w.note("settings")
		w.try("REINDEX " + table)
		w.try(fmt.Sprintf("PRAGMA journal_size_limit = %d", []int{-1, 0, 10_000, 1_000_000}[w.r.IntN(4)]))
		w.try("PRAGMA synchronous = " + []string{"OFF", "NORMAL", "FULL"}[w.r.IntN(3)])
	}
}

// savepoints nests some, and goes back to some.
func (w *workload) savepoints(pick func() string) {
	if !w.begin() {
		return
	}
	depth := 0
	for range 2 + w.r.IntN(12) {
		switch w.r.IntN(5) {
		case 0:
			w.try(fmt.Sprintf("SAVEPOINT s%d", depth))
			depth++
		case 1:
			if depth > 0 {
				to := w.r.IntN(depth)
				w.try(fmt.Sprintf("ROLLBACK TO s%d", to))
				depth = to + 1
			}
		case 2:
			if depth > 0 {
				depth = w.r.IntN(depth)
				w.try(fmt.Sprintf("RELEASE s%d", depth))
			}
		default:
			w.change(pick())
		}
	}
}

func (w *workload) note(what string) {
	if w.recent = append(w.recent, what); len(w.recent) > 40 {
		w.recent = w.recent[1:]
	}
	if w.done != nil {
		w.done[strings.Fields(what)[0]]++
	}
}

// checkpoint orders one of a random kind.
func checkpoint(c *sqlite.Conn, r *rand.Rand) {
	_ = zsqlitex.ExecuteTransient(c, "PRAGMA wal_checkpoint("+[]string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[r.IntN(4)]+")", nil)
}

// browse reads here and there, so that a cache holds this and that, parsed.
func browse(c *sqlite.Conn, r *rand.Rand) error {
	names, err := tables(c)
	if err != nil || len(names) == 0 {
		return err
	}
	for range r.IntN(5) {
		t, k := names[r.IntN(len(names))], r.IntN(400)
		sql := [...]string{
			"SELECT count(*), total(length(b)) FROM " + t,
			fmt.Sprintf("SELECT * FROM %s WHERE k BETWEEN %d AND %d", t, k, k+10),
			"SELECT s FROM " + t + " ORDER BY s LIMIT 20",
			fmt.Sprintf("SELECT max(hex(substr(b, -20))) FROM %s WHERE k > %d", t, k),
			fmt.Sprintf("SELECT count(*) FROM fts WHERE fts MATCH 'word%d'", k%40),
			fmt.Sprintf("SELECT count(*) FROM box WHERE x0 > %d AND y1 < %d", k, k%50),
		}[r.IntN(6)]
		if err := zsqlitex.ExecuteTransient(c, sql, nil); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// digest summarises what queries find, by tables and by indexes.
func digest(c *sqlite.Conn) (string, error) {
	var out strings.Builder
	add := func(sql string) error {
		err := zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			for i := range s.ColumnCount() {
				fmt.Fprintf(&out, "%s|", s.ColumnText(i))
			}
			out.WriteByte('\n')
			return nil
		}})
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		return nil
	}
	names, err := tables(c)
	if err != nil {
		return "", err
	}
	queries := []string{
		"SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2", "SELECT * FROM counters",
		"SELECT count(*), total(rowid) FROM fts WHERE fts MATCH 'word7 OR word31'", "SELECT count(*), total(id) FROM box WHERE x0 > 100",
	}
	for _, t := range names {
		queries = append(queries,
			"SELECT count(*), total(k), total(length(s)), total(unicode(s)), total(length(b)), min(hex(substr(b, -9))) FROM "+t+" NOT INDEXED",
			"SELECT k, count(*) FROM "+t+" WHERE k > 200 GROUP BY k", "SELECT s FROM "+t+" WHERE s > '8' ORDER BY s")
	}
	for _, sql := range queries {
		if err := add(sql); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}
