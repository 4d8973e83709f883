package sqlitex_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/commit"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Tests count transactions, also where all goes slowly: under the race detector, on a machine that is busy.
func init() { commit.Longest = time.Second }

var errOwn = errors.New("the part's own error")

// outcome is how a call ended.
type outcome struct {
	err      error
	panicked any
	returned bool
}

// ended runs call on a goroutine of its own.
func ended(call func() error) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() { done <- o }()
		defer func() { o.panicked = recover() }()
		o.err = call()
		o.returned = true
	}()
	return done
}

// together has calls queue for the writer, in their order, before it is free: the first then leads one transaction of all.
func together(t testing.TB, db *sqlitex.DB, calls ...func() error) []outcome {
	t.Helper()
	return wait(queue(t, db, calls...))
}

// queue is the first half of together: goOn lets the writer go. Meanwhile no lock is held.
func queue(t testing.TB, db *sqlitex.DB, calls ...func() error) (outcomes []<-chan outcome, goOn func()) {
	t.Helper()
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.WriteConn(context.Background(), func(*sqlite.Conn) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	goOn = func() {
		close(free)
		require.NoError(t, <-done)
	}
	for i, call := range calls {
		outcomes = append(outcomes, ended(call))
		eventually(t, func() bool { return db.Stats().Writer.Queued == i+1 }, "queued")
	}
	return outcomes, goOn
}

func wait(outcomes []<-chan outcome, goOn func()) (all []outcome) {
	goOn()
	for _, o := range outcomes {
		all = append(all, <-o)
	}
	return all
}

// succeeded fails the test unless all calls returned nil.
func succeeded(t testing.TB, outcomes ...outcome) {
	t.Helper()
	for i, o := range outcomes {
		if assert.NoError(t, o.err, "call %d", i) {
			assert.Equal(t, outcome{returned: true}, o, "call %d", i)
		}
	}
}

// commits returns what fn adds to the count of shared commits, and of calls that they served.
func commits(db *sqlitex.DB, fn func()) (commits, callers int64) {
	before := db.Stats().Writer
	fn()
	after := db.Stats().Writer
	return after.Commits - before.Commits, after.Callers - before.Callers
}

// adds is a call of Exec that adds a row.
func adds(db *sqlitex.DB, v string) func() error { return addsUnder(context.Background(), db, v) }

func addsUnder(ctx context.Context, db *sqlitex.DB, v string) func() error {
	return func() error {
		_, err := db.Exec(ctx, `INSERT INTO t (v) VALUES (?)`, v)
		return err
	}
}

func executes(db *sqlitex.DB, sql string, args ...any) func() error {
	return func() error {
		_, err := db.Exec(context.Background(), sql, args...)
		return err
	}
}

// returns is a call of ExecOne.
func returns(db *sqlitex.DB, sql string, args ...any) func() error {
	return func() error {
		_, err := sqlitex.ExecOne[int64](context.Background(), db, sql, args...)
		return err
	}
}

func batches(db *sqlitex.DB, fn func(w *tx.Writer) error) func() error {
	return func() error { return db.Batch(context.Background(), fn) }
}

// addsIn adds a row in a Batch or Write.
func addsIn(w *tx.Writer, v string) error {
	_, err := w.Exec(`INSERT INTO t (v) VALUES (?)`, v)
	return err
}

// batchAdds is a call of Batch that adds a row, and counts how often it runs.
func batchAdds(db *sqlitex.DB, v string, runs *int) func() error {
	return batches(db, func(w *tx.Writer) error {
		*runs++
		return addsIn(w, v)
	})
}

// values are the rows of t in the order in which they were added.
func values(t testing.TB, db *sqlitex.DB) []string {
	t.Helper()
	got, err := sqlitex.All[string](context.Background(), db, `SELECT v FROM t ORDER BY id`)
	require.NoError(t, err)
	return got
}

// handles runs a test on a file and on a database in memory.
func handles(t *testing.T, o *sqlitex.Options, sql string, test func(t *testing.T, db *sqlitex.DB)) {
	t.Helper()
	for _, kind := range []string{"file", "memory"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path := ":memory:"
			if kind == "file" {
				path = dbtest.Path(t)
			}
			test(t, dbtest.OpenAt(t, path, o, sql))
		})
	}
}

func TestCallersWhoWaitForTheWriterShareOneCommit(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		runs := 0
		var id int64
		n, callers := commits(db, func() {
			succeeded(t, together(t, db,
				adds(db, "exec"),
				batchAdds(db, "batch", &runs),
				func() (err error) {
					id, err = sqlitex.ExecOne[int64](context.Background(), db, `INSERT INTO t (v) VALUES ('one') RETURNING id`)
					return err
				},
				executes(db, `UPDATE t SET v = v || '!' WHERE v = 'exec'`),
				executes(db, `SELECT * FROM t`),
			)...)
		})
		assert.Equal(t, []int64{1, 5}, []int64{n, callers})
		assert.Equal(t, 1, runs)
		assert.EqualValues(t, 3, id)
		assert.Equal(t, []string{"exec!", "batch", "one"}, values(t, db))
		usable(t, db)
	})
}

func TestEachCallerLearnsWhatItsOwnStatementDid(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema+`; CREATE TABLE log (id INTEGER PRIMARY KEY, v TEXT);
		CREATE TRIGGER g AFTER INSERT ON t WHEN new.v = 'logged' BEGIN INSERT INTO log (id, v) VALUES (1000, new.v); END`,
		func(t *testing.T, db *sqlitex.DB) {
			statements := []struct {
				sql  string
				want tx.Result
			}{
				{`INSERT INTO t (id, v) VALUES (10, 'a'), (11, 'b')`, tx.Result{RowsAffected: 2, LastInsertID: 11}},
				{`UPDATE t SET v = v || 'x'`, tx.Result{RowsAffected: 2}},
				{`INSERT OR IGNORE INTO t (id) VALUES (10)`, tx.Result{}},
				{`INSERT INTO t (id, v) VALUES (20, 'logged')`, tx.Result{RowsAffected: 1, LastInsertID: 20}},
				{`SELECT * FROM t`, tx.Result{}},
				{`INSERT INTO t (v) SELECT 'last ' || last_insert_rowid()`, tx.Result{RowsAffected: 1, LastInsertID: 21}},
				{`DELETE FROM t WHERE id < 20`, tx.Result{RowsAffected: 2}},
			}
			got := make([]tx.Result, len(statements))
			var calls []func() error
			for i, s := range statements {
				calls = append(calls, func() (err error) { got[i], err = db.Exec(context.Background(), s.sql); return err })
			}
			n, callers := commits(db, func() { succeeded(t, together(t, db, calls...)...) })
			assert.Equal(t, []int64{1, 7}, []int64{n, callers})
			for i, s := range statements {
				assert.Equal(t, s.want, got[i], s.sql)
			}
			assert.Equal(t, []string{"logged", "last 0"}, values(t, db), "last_insert_rowid() is nobody else's")
		})
}

// The many ways to fail that concern a call alone, and need no repetition of the others.
func TestAStatementThatIsRefusedCostsOthersNothing(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema+`; CREATE TABLE u (n INTEGER PRIMARY KEY, x NOT NULL CHECK (x <> 13)); INSERT INTO u VALUES (1, 1)`,
		func(t *testing.T, db *sqlitex.DB) {
			refused := map[string]error{
				`INSERT INTO u VALUES (1, 2)`:           tx.ErrUnique,
				`INSERT INTO u VALUES (2, 2), (1, 2)`:   tx.ErrUnique,
				`INSERT INTO u VALUES (2, NULL)`:        tx.ErrNotNull,
				`INSERT INTO u VALUES (2, 2), (3, 13)`:  tx.ErrCheck,
				`INSERT INTO nowhere VALUES (1)`:        tx.ErrSyntax,
				`INSERT INTO u`:                         tx.ErrSyntax,
				`SELECT abs(-9223372036854775807 - 1)`:  tx.ErrSyntax,
				`INSERT INTO u VALUES (?, ?)`:           tx.ErrArguments,
				`INSERT INTO u VALUES (2, 2); SELECT 1`: tx.ErrNotAllowed,
				`SELECT json('{') FROM u`:               tx.ErrSyntax,
			}
			runs := 0
			calls := []func() error{adds(db, "first"), batchAdds(db, "batch", &runs)}
			var want []error
			for sql, err := range refused {
				calls, want = append(calls, executes(db, sql)), append(want, err)
			}
			calls = append(calls, returns(db, `UPDATE u SET x = 2 WHERE n = 7 RETURNING n`), returns(db, `SELECT 1 UNION SELECT 2`))
			want = append(want, tx.ErrNoRows, tx.ErrTooManyRows)
			calls = append(calls, adds(db, "last"))
			var outcomes []outcome
			n, callers := commits(db, func() { outcomes = together(t, db, calls...) })
			assert.Equal(t, []int64{1, int64(len(calls))}, []int64{n, callers})
			assert.Equal(t, 1, runs)
			succeeded(t, outcomes[0], outcomes[1], outcomes[len(outcomes)-1])
			for i, err := range want {
				assert.ErrorIs(t, outcomes[2+i].err, err)
			}
			assert.Equal(t, []string{"first", "batch", "last"}, values(t, db))
			rows, err := sqlitex.All[int](context.Background(), db, `SELECT n FROM u`)
			require.NoError(t, err)
			assert.Equal(t, []int{1}, rows)
		})
}

func TestManyCallersShareWithoutMakingTheFirstWaitForAll(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	const callers = 32
	var all sync.WaitGroup
	n, served := commits(db, func() {
		for i := range callers {
			all.Go(func() {
				for range 50 {
					var err error
					if i%4 == 0 {
						err = db.Batch(context.Background(), func(w *tx.Writer) error { return addsIn(w, "x") })
					} else {
						err = adds(db, "x")()
					}
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
	})
	assert.EqualValues(t, callers*50, served)
	s := db.Stats().Writer
	assert.GreaterOrEqual(t, s.Acquired, int64(callers*50), "those who lead and those who follow")
	assert.LessOrEqual(t, s.Waits, s.Acquired)
	t.Logf("%.1f calls per commit", float64(served)/float64(n))
	assert.Equal(t, callers*50, count(t, db))
}
