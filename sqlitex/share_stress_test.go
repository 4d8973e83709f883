package sqlitex_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// crowdSchema: every call adds its rows to r and as many to the total; the rest gives it ways to fail.
const crowdSchema = `
	CREATE TABLE r (id INTEGER PRIMARY KEY AUTOINCREMENT, call INTEGER NOT NULL, k INTEGER NOT NULL, UNIQUE (call, k));
	CREATE TABLE total (n INTEGER NOT NULL);
	INSERT INTO total VALUES (0);
	CREATE TRIGGER adding AFTER INSERT ON r BEGIN UPDATE total SET n = n + 1; END;
	CREATE TRIGGER failing BEFORE INSERT ON r WHEN new.k = -1 BEGIN SELECT RAISE(FAIL, 'fail'); END;
	CREATE TRIGGER rolling BEFORE INSERT ON r WHEN new.k = -2 BEGIN SELECT RAISE(ROLLBACK, 'rollback'); END;
	CREATE TABLE slot (id INTEGER PRIMARY KEY, call INTEGER NOT NULL);
	CREATE TABLE later (call INTEGER NOT NULL, slot INTEGER REFERENCES slot DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE strict (call INTEGER NOT NULL, k INTEGER NOT NULL) STRICT`

// crowd is many goroutines that write in all ways, well and badly, and a model of what must be there.
type crowd struct {
	t     *testing.T
	db    *sqlitex.DB
	calls atomic.Int64
	bad   int // of a hundred calls, those that are made to fail

	mu    sync.Mutex
	model map[int64]int // rows that were acknowledged, by call
}

// member is one call.
type member struct {
	*crowd
	rnd   *rand.Rand
	call  int64
	rows  int // that it adds if it succeeds
	ctx   context.Context
	hooks int
}

// A database holds what was acknowledged, and nothing else, whatever the neighbours did.
func TestTheDatabaseEqualsAModelOfWhatACrowdWasTold(t *testing.T) {
	t.Parallel()
	for end := time.Now().Add(dbtest.Stress(t, short) / 2); ; {
		for i, path := range []string{dbtest.Path(t), ":memory:", dbtest.Path(t)} {
			var h hooks
			h.Store("panic", func() { panic("in SQL") })
			o := &sqlitex.Options{BusyTimeout: time.Minute, Setup: h.setup}
			c := &crowd{t: t, db: dbtest.OpenAt(t, path, o, crowdSchema), bad: []int{30, 10, 1}[i], model: map[int64]int{}}
			c.run(16, 300*time.Millisecond)
			c.check()
			require.NoError(t, c.db.Close())
		}
		if time.Now().After(end) || t.Failed() {
			return
		}
	}
}

func (c *crowd) run(members int, d time.Duration) {
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for range members {
		seed := rand.Uint64()
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for time.Now().Before(end) && !c.t.Failed() {
				m := &member{crowd: c, rnd: rnd, call: c.calls.Add(1), rows: 1 + rnd.IntN(3)}
				m.act()
			}
		})
	}
	all.Wait()
	s := c.db.Stats().Writer
	c.t.Logf("%d calls, %d of them acknowledged; %d commits served %d", c.calls.Load(), len(c.model), s.Commits, s.Callers)
}

// act makes one call and notes what it was told.
func (m *member) act() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.ctx = ctx
	if m.rnd.IntN(100) < m.bad {
		defer time.AfterFunc(time.Duration(m.rnd.IntN(3000))*time.Microsecond, cancel).Stop()
	}
	ways := []func() error{m.exec, m.exec, m.exec, m.execOne, m.batch, m.batch, m.write, m.slot, m.schema}
	way := ways[m.rnd.IntN(len(ways))]
	if m.rnd.IntN(100) < m.bad {
		way = m.badly
	}
	o := <-ended(way)
	if o.err == nil && o.returned {
		m.mu.Lock()
		m.model[m.call] = m.rows
		m.mu.Unlock()
		return
	}
	assert.Zero(m.t, m.hooks, "a hook of a call that failed")
}

// insert is a statement that adds the rows of the call.
func (m *member) insert() (string, []any) {
	args := []any{}
	for k := range m.rows {
		args = append(args, m.call, k)
	}
	return `INSERT INTO r (call, k) VALUES (?, ?)` + strings.Repeat(`, (?, ?)`, m.rows-1), args
}

func (m *member) exec() error {
	sql, args := m.insert()
	res, err := m.db.Exec(m.ctx, sql, args...)
	if err == nil {
		assert.EqualValues(m.t, m.rows, res.RowsAffected)
		last, err := sqlitex.One[int64](context.Background(), m.db, `SELECT max(id) FROM r WHERE call = ?`, m.call)
		assert.NoError(m.t, err)
		assert.Equal(m.t, last, res.LastInsertID, "somebody else's rowid")
	}
	return err
}

func (m *member) execOne() error {
	m.rows = 1
	call, err := sqlitex.ExecOne[int64](m.ctx, m.db, `INSERT INTO r (call, k) VALUES (?, 0) RETURNING call`, m.call)
	if err == nil {
		assert.Equal(m.t, m.call, call)
	}
	return err
}

func (m *member) batch() error {
	return m.db.Batch(m.ctx, m.inside)
}

func (m *member) write() error {
	runs := 0
	return m.db.Write(m.ctx, func(w *tx.Writer) error {
		runs++
		assert.Equal(m.t, 1, runs)
		return m.inside(w)
	})
}

// inside adds the rows one by one, with interludes, and ends in a random way.
func (m *member) inside(w *tx.Writer) error {
	w.OnCommit(func() {
		m.hooks++
		assert.Equal(m.t, 1, m.hooks)
	})
	for k := range m.rows {
		if _, err := w.Exec(`INSERT INTO r (call, k) VALUES (?, ?)`, m.call, k); err != nil {
			return err
		}
		if err := m.interlude(w); err != nil {
			return err
		}
	}
	switch m.rnd.IntN(1200 / (m.bad + 1)) {
	case 0:
		return errOwn
	case 1:
		panic(errOwn)
	case 2:
		goexit()
	case 3:
		_, _ = w.Exec(`INSERT INTO r (call, k) VALUES (?, -2)`, m.call) // passed over
	case 4:
		_, _ = w.Exec(`INSERT INTO r (call, k) VALUES (?, 'x')`, m.call)
		return errOwn
	case 5:
		_, err := w.Exec(`INSERT INTO later (call, slot) VALUES (?, -1)`, m.call)
		return err
	}
	return nil
}

// interlude changes nothing that lasts.
func (m *member) interlude(w *tx.Writer) (err error) {
	switch m.rnd.IntN(2400 / (m.bad + 1)) {
	case 0:
		_, err = w.Exec(`CREATE TEMP TABLE r (call, k)`)
		if err == nil {
			_, err = w.Exec(`DROP TABLE temp.r`)
		}
	case 1:
		_, err = w.Exec(`PRAGMA defer_foreign_keys = 1`)
	case 2:
		err = w.Savepoint(func(w *tx.Writer) error {
			_, err := w.Exec(`INSERT INTO r (call, k) VALUES (?, 1000)`, m.call)
			assert.NotErrorIs(m.t, err, tx.ErrConstraint)
			return errOwn
		})
		if err == errOwn {
			err = nil
		}
	case 3:
		_, err = w.Exec(`INSERT INTO total VALUES (x -> '$[')`)
		assert.Error(m.t, err)
		err = nil
	case 4:
		for range tx.Each[int64](w, `SELECT id FROM r LIMIT 3`) {
			break
		}
	}
	return err
}

// badly makes calls that fail, and would leave something.
func (m *member) badly() (err error) {
	m.rows = 0
	ctx := m.ctx
	switch m.rnd.IntN(9) {
	case 0:
		_, err = m.db.Exec(ctx, `INSERT INTO r (call, k) VALUES (?, 0), (?, -1)`, m.call, m.call)
	case 1:
		_, err = m.db.Exec(ctx, `INSERT OR FAIL INTO r (call, k) VALUES (?, 0), (?, 0)`, m.call, m.call)
	case 2:
		_, err = m.db.Exec(ctx, `INSERT INTO r (call, k) VALUES (?, 0), (?, 0)`, m.call, m.call)
	case 3:
		_, err = m.db.Exec(ctx, `INSERT INTO r (call, k) VALUES (?, -2)`, m.call)
	case 4:
		_, err = m.db.Exec(ctx, `INSERT INTO strict (call, k) VALUES (?, 0), (?, 'x')`, m.call, m.call)
	case 5:
		_, err = m.db.Exec(ctx, `INSERT INTO later (call, slot) VALUES (?, -1)`, m.call)
	case 6:
		_, err = sqlitex.ExecOne[int64](ctx, m.db, `INSERT INTO r (call, k) VALUES (?, 0), (?, 1) RETURNING k`, m.call, m.call)
	case 7:
		if m.rnd.IntN(5) > 0 { // it costs a connection
			return errOwn
		}
		_, err = m.db.Exec(ctx, `INSERT INTO r (call, k) SELECT ?, hook('panic')`, m.call)
	case 8:
		ctx, cancel := context.WithTimeout(ctx, time.Duration(m.rnd.IntN(2000))*time.Microsecond)
		defer cancel()
		_, err = m.db.Exec(ctx, `UPDATE total SET n = n + (`+endless+`)`)
	}
	assert.Error(m.t, err)
	return err
}

// slot takes one of a few places, or frees it: a conflict with others, within and beyond one transaction.
func (m *member) slot() error {
	m.rows = 0
	id := m.rnd.IntN(8)
	if m.rnd.IntN(2) == 0 {
		_, err := m.db.Exec(m.ctx, `INSERT INTO slot (id, call) VALUES (?, ?)`, id, m.call)
		return err
	}
	if m.rnd.IntN(2) == 0 {
		_, err := m.db.Exec(m.ctx, `INSERT INTO later (call, slot) VALUES (?, ?)`, m.call, id)
		return err
	}
	return m.db.Batch(m.ctx, func(w *tx.Writer) error {
		if _, err := w.Exec(`DELETE FROM later WHERE slot = ?`, id); err != nil {
			return err
		}
		_, err := w.Exec(`DELETE FROM slot WHERE id = ?`, id)
		return err
	})
}

// schema makes other statements stale, and is not shared.
func (m *member) schema() (err error) {
	m.rows = 0
	if m.rnd.IntN(20) > 0 {
		return errOwn
	}
	_, err = m.db.Exec(m.ctx, `CREATE TABLE IF NOT EXISTS scratch (x)`)
	if err == nil {
		_, err = m.db.Exec(m.ctx, `DROP TABLE IF EXISTS scratch`)
	}
	return err
}

// check compares the database with the model.
func (c *crowd) check() {
	type group struct {
		Call int64
		N    int
	}
	ctx := context.Background()
	rows, err := sqlitex.All[group](ctx, c.db, `SELECT call, count(*) AS n FROM r GROUP BY call`)
	require.NoError(c.t, err)
	got, total := map[int64]int{}, 0
	for _, r := range rows {
		got[r.Call] = r.N
		total += r.N
	}
	for call, n := range c.model {
		if n == 0 {
			assert.Zero(c.t, got[call])
		} else {
			assert.Equal(c.t, n, got[call], "acknowledged, call %d", call)
		}
		delete(got, call)
	}
	assert.Empty(c.t, got, "there, and not acknowledged")
	n, err := sqlitex.One[int](ctx, c.db, `SELECT n FROM total`)
	require.NoError(c.t, err)
	assert.Equal(c.t, total, n, "of triggers")
	strict, err := sqlitex.One[int](ctx, c.db, `SELECT count(*) FROM strict`)
	require.NoError(c.t, err)
	assert.Zero(c.t, strict)
	owners, err := sqlitex.All[int64](ctx, c.db, `SELECT call FROM slot UNION SELECT call FROM later`)
	require.NoError(c.t, err)
	for _, call := range owners {
		assert.Contains(c.t, c.model, call, "there, and not acknowledged")
	}
	require.NoError(c.t, c.db.Check(ctx))
}
