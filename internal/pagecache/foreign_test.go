package pagecache_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/pagecache"
)

// The cache serves the connections of other packages too. The same work, done by zombiezen alone, must come to the same with
// this cache, without surviving commits, and with SQLite's own.
func TestForeignConnectionsFindTheSameWithEveryCache(t *testing.T) {
	results := map[string]string{}
	for _, cache := range []string{"", "plain", "builtin"} {
		cmd := dbtest.Command(t, "foreign", t.TempDir())
		cmd.Env = append(cmd.Env, pagecache.Variable+"="+cache)
		out, err := cmd.Output()
		require.NoError(t, err, "cache %q: %s", cache, out)
		first, rest, _ := strings.Cut(string(out), "\n")
		require.Equal(t, map[string]string{
			"": "own, survives commits", "plain": "own", "builtin": "built-in, by " + pagecache.Variable,
		}[cache], first)
		results[cache] = rest
	}
	assert.Equal(t, results["builtin"], results[""])
	assert.Equal(t, results["builtin"], results["plain"])
	assert.Greater(t, strings.Count(results[""], "\n"), 20)
}

// Another package that initialises SQLite first has chosen the cache.
func TestSQLitesOwnCacheStaysWhereSQLiteWasInitialisedBefore(t *testing.T) {
	cmd := dbtest.Command(t, "late", t.TempDir())
	cmd.Env = append(cmd.Env, pagecache.Variable+"=")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, pagecache.AlreadyStarted.String()+"\n", string(out))
}

func childLate(args []string) {
	path := filepath.Join(args[0], "late.db")
	z, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	fatal(err)
	c, err := capi.Open(path, sqlite.OpenReadOnly)
	fatal(err)
	fatal(c.Close())
	fatal(z.Close())
	fmt.Println(pagecache.Installed())
}

func childForeign(args []string) {
	c, err := capi.Open(filepath.Join(args[0], "own.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	fatal(err)
	fatal(c.Close())
	fmt.Println(pagecache.Installed())
	// Two at once, each with files of its own.
	var wg sync.WaitGroup
	var out [2]bytes.Buffer
	for i := range out {
		wg.Go(func() {
			dir := filepath.Join(args[0], fmt.Sprint(i))
			fatal(os.Mkdir(dir, 0o700))
			f := &foreign{dir: dir, r: rand.New(rand.NewPCG(uint64(i), 9)), out: &out[i]}
			f.part(i)
		})
	}
	wg.Wait()
	for i := range out {
		fmt.Print(out[i].String())
	}
	if left := pagecache.Allocated(); left != 0 {
		fmt.Println("pages left:", left)
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// foreign does what is hard on a page cache, with zombiezen alone.
type foreign struct {
	dir string
	r   *rand.Rand
	out *bytes.Buffer
	c   *sqlite.Conn
}

func (f *foreign) open(name string, flags sqlite.OpenFlags) *sqlite.Conn {
	path := name
	if name != ":memory:" && name != "" {
		path = filepath.Join(f.dir, name)
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate|flags)
	fatal(err)
	f.c = c
	return c
}

func (f *foreign) run(statements ...string) {
	for _, sql := range statements {
		if err := zsqlitex.ExecuteTransient(f.c, sql, nil); err != nil {
			fatal(fmt.Errorf("%s: %w", sql, err))
		}
	}
}

// fill inserts n rows, some of which need overflow pages.
func (f *foreign) fill(table string, n int) {
	s, err := f.c.Prepare("INSERT INTO " + table + " (k, s, b) VALUES (?, ?, ?)")
	fatal(err)
	for range n {
		size := f.r.IntN(80)
		if f.r.IntN(20) == 0 {
			size = f.r.IntN(12000)
		}
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(f.r.Uint32())
		}
		s.BindInt64(1, int64(f.r.IntN(1000)))
		s.BindText(2, fmt.Sprintf("%06x-%d", f.r.IntN(1<<24), f.r.IntN(9)))
		s.BindBytes(3, b)
		_, err := s.Step()
		fatal(err)
		fatal(s.Reset())
	}
}

// report writes a digest of a query's result, and checks the database.
func (f *foreign) report(what string, queries ...string) {
	h := sha256.New()
	for _, sql := range append(queries, "PRAGMA integrity_check") {
		err := zsqlitex.ExecuteTransient(f.c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			for i := range s.ColumnCount() {
				b := make([]byte, s.ColumnLen(i))
				s.ColumnBytes(i, b)
				fmt.Fprintf(h, "%d:%s|", s.ColumnType(i), b)
			}
			if sql == "PRAGMA integrity_check" && s.ColumnText(0) != "ok" {
				return fmt.Errorf("%s", s.ColumnText(0))
			}
			return nil
		}})
		if err != nil {
			fatal(fmt.Errorf("%s: %s: %w", what, sql, err))
		}
	}
	fmt.Fprintf(f.out, "%s %x\n", what, h.Sum(nil)[:8])
}

const everything = "SELECT * FROM t ORDER BY rowid"

// part is one half of the work.
func (f *foreign) part(i int) {
	if i == 0 {
		f.spills("DELETE", 5)
		f.spills("WAL", 1)
		f.attached()
		f.shared()
		return
	}
	f.spills("WAL", 200)
	f.spills("MEMORY", 5)
	f.spills("OFF", 3)
	f.memory()
	f.copies()
}

// spills works in transactions larger than the cache.
func (f *foreign) spills(mode string, cacheSize int) {
	what := fmt.Sprintf("%s %d", mode, cacheSize)
	c := f.open(fmt.Sprintf("%s%d.db", mode, cacheSize), 0)
	defer func() { fatal(c.Close()) }()
	f.run("PRAGMA page_size = 1024", "PRAGMA auto_vacuum = "+[]string{"NONE", "FULL", "INCREMENTAL"}[cacheSize%3], "PRAGMA journal_mode = "+mode,
		fmt.Sprintf("PRAGMA cache_size = %d", cacheSize), "PRAGMA synchronous = OFF", "PRAGMA temp_store = FILE", "PRAGMA cache_spill = 1",
		"CREATE TABLE t (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)", "CREATE INDEX tk ON t (k)", "BEGIN IMMEDIATE")
	f.fill("t", 250)
	f.run("COMMIT")
	f.report(what, everything, "SELECT k, s FROM t WHERE k > 10 ORDER BY k, s")
	if mode != "OFF" { // which cannot roll back
		f.run("BEGIN IMMEDIATE", "UPDATE t SET k = k + 1, b = zeroblob(2000)", "DELETE FROM t WHERE id % 3 = 0", "ROLLBACK")
		f.report(what+" rollback", everything)
		f.run("BEGIN IMMEDIATE", "SAVEPOINT a")
		f.fill("t", 200)
		f.run("SAVEPOINT b", "UPDATE t SET s = s || 'x' WHERE k < 500", "CREATE INDEX ts ON t (s, k)", "ROLLBACK TO b", "DELETE FROM t WHERE k BETWEEN 100 AND 300",
			"PRAGMA cache_size = 3", "SAVEPOINT c", "UPDATE t SET b = NULL WHERE id % 2", "ROLLBACK TO c", "RELEASE b", "RELEASE a", "COMMIT")
		f.report(what+" savepoints", everything)
	}
	f.run("PRAGMA shrink_memory", "CREATE TABLE u AS SELECT * FROM t UNION ALL SELECT * FROM t UNION ALL SELECT * FROM t", "CREATE INDEX us ON u (s, k, length(b))",
		"CREATE INDEX ub ON u (b)", "DROP TABLE t", "ALTER TABLE u RENAME TO t", "PRAGMA incremental_vacuum(50)")
	f.report(what+" index", "SELECT s, k FROM t WHERE s > '1' ORDER BY s, k, length(b), rowid", everything)
	f.run(fmt.Sprintf("PRAGMA cache_size = %d", 2*cacheSize), "DELETE FROM t WHERE k % 2", "VACUUM")
	f.report(what+" vacuum", everything)
	f.run("CREATE TEMP TABLE x AS SELECT * FROM t ORDER BY b", "CREATE INDEX temp.xi ON x (s)", "PRAGMA temp.cache_size = 2", "BEGIN", "UPDATE x SET k = k + 1",
		"SAVEPOINT a", "DELETE FROM x WHERE k % 3 = 0", "ROLLBACK TO a", "COMMIT")
	f.report(what+" temp", "SELECT * FROM x ORDER BY s, k, b", "SELECT count(*) FROM (SELECT DISTINCT b FROM t ORDER BY b)",
		"WITH y AS MATERIALIZED (SELECT * FROM t ORDER BY s) SELECT count(*), sum(a.k) FROM y a JOIN y b ON a.s = b.s")
}

// memory works in databases that are nowhere but in the cache.
func (f *foreign) memory() {
	for _, name := range []string{":memory:", ""} {
		c := f.open(name, 0)
		f.run("PRAGMA page_size = 512", "PRAGMA cache_size = 5", "CREATE TABLE t (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)")
		f.fill("t", 700)
		f.run("BEGIN", "DELETE FROM t WHERE k < 600", "ROLLBACK", "PRAGMA shrink_memory", "SAVEPOINT a", "UPDATE t SET b = zeroblob(9000) WHERE id % 5 = 0",
			"SAVEPOINT b", "DELETE FROM t", "ROLLBACK TO b", "RELEASE a", "CREATE INDEX tb ON t (b)", "DELETE FROM t WHERE id % 4 = 0", "VACUUM")
		f.report("memory"+name, everything)
		f.run("PRAGMA page_size = 4096", "VACUUM", "DELETE FROM t")
		f.fill("t", 50)
		f.report("memory again"+name, everything)
		fatal(c.Close())
	}
}

// attached works in several databases at once.
func (f *foreign) attached() {
	c := f.open("main.db", 0)
	defer func() { fatal(c.Close()) }()
	f.run("PRAGMA synchronous = OFF", "PRAGMA cache_size = 5", "ATTACH '"+filepath.Join(f.dir, "other.db")+"' AS other", "PRAGMA other.page_size = 8192", "PRAGMA other.cache_size = 4", "PRAGMA other.synchronous = OFF",
		"ATTACH ':memory:' AS m", "CREATE TABLE t (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)", "CREATE TABLE other.o (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)",
		"CREATE TABLE m.m (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)", "BEGIN")
	f.fill("t", 300)
	f.run("INSERT INTO o SELECT * FROM t", "INSERT INTO m.m SELECT * FROM o", "COMMIT", "BEGIN", "DELETE FROM o WHERE k % 2", "DELETE FROM t", "UPDATE m.m SET k = 0", "ROLLBACK")
	f.report("attached", everything, "SELECT * FROM o", "SELECT * FROM m.m", "PRAGMA other.integrity_check")
	f.run("VACUUM other", "DETACH other", "DETACH m")
	f.report("detached", everything)
}

// copies uses the backup API, and databases as byte slices.
func (f *foreign) copies() {
	src := f.open("source.db", 0)
	f.run("PRAGMA journal_mode = WAL", "PRAGMA synchronous = OFF", "PRAGMA cache_size = 5", "CREATE TABLE t (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)")
	f.fill("t", 600)
	other, err := sqlite.OpenConn(filepath.Join(f.dir, "source.db"), sqlite.OpenReadWrite)
	fatal(err)
	dst := f.open("copy.db", 0)
	f.run("PRAGMA page_size = 1024", "PRAGMA synchronous = OFF", "CREATE TABLE old (x)", "INSERT INTO old VALUES (zeroblob(900000))")
	b, err := sqlite.NewBackup(dst, "main", src, "main")
	fatal(err)
	for i, more := 0, true; more; i++ {
		more, err = b.Step(7)
		fatal(err)
		if i%10 == 3 && i < 60 { // makes it begin again
			fatal(zsqlitex.ExecuteTransient(other, fmt.Sprintf("UPDATE t SET k = k + 1 WHERE id %% 50 = %d", i), nil))
		}
		if i%10 == 5 { // does not
			fatal(zsqlitex.ExecuteTransient(src, fmt.Sprintf("UPDATE t SET b = zeroblob(%d) WHERE id %% 60 = %d", i*20, i), nil))
		}
	}
	fatal(b.Close())
	f.report("backup", everything)
	f.run("PRAGMA journal_mode = DELETE") // a log cannot be had in memory
	fatal(other.Close())
	fatal(src.Close())
	image, err := dst.Serialize("main")
	fatal(err)
	fatal(dst.Close())
	c := f.open(":memory:", 0)
	fatal(c.Deserialize("main", image))
	f.report("deserialized", everything)
	f.run("PRAGMA cache_size = 3", "UPDATE t SET b = zeroblob(5000) WHERE id % 7 = 0", "CREATE INDEX tb ON t (b)", "DELETE FROM t WHERE k % 2")
	f.report("deserialized and changed", everything)
	fatal(c.Close())
}

// shared has two connections use one cache.
func (f *foreign) shared() {
	a := f.open("shared.db", sqlite.OpenSharedCache)
	f.run("PRAGMA cache_size = 4", "CREATE TABLE t (id INTEGER PRIMARY KEY, k INT, s TEXT, b BLOB)")
	b := f.open("shared.db", sqlite.OpenSharedCache)
	f.fill("t", 200)
	f.c = a
	f.fill("t", 200)
	f.run("PRAGMA cache_size = 100", "DELETE FROM t WHERE id % 3 = 0")
	fatal(a.Close())
	f.c = b
	f.report("shared", everything)
	fatal(b.Close())
}
