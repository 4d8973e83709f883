package tx_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// model is what must be in the table t, by id.
type model map[int]int

// monkey runs random transactions on one database, and keeps a model of what must be in it.
type monkey struct {
	t   *testing.T
	db  *sqlitex.DB
	rnd *rand.Rand
	now model // committed

	ctx    context.Context
	cancel context.CancelFunc
	hooks  int // run
}

var errMonkey = errors.New("the monkey's own error")

// A database does what a Go map does, whatever sequence of writes, savepoints and failures comes.
func TestTheDatabaseEqualsAModelAfterRandomTransactions(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	path := dbtest.Path(t)
	for i, c := range []struct {
		path string
		o    *sqlitex.Options
	}{
		{path, nil}, {path, &sqlitex.Options{MaxStatements: 3}}, {path, &sqlitex.Options{MaxStatements: -1}}, {":memory:", nil},
	} {
		m := &monkey{t: t, db: dbtest.OpenAt(t, c.path, c.o, ""), rnd: rand.New(rand.NewPCG(seed, uint64(i))), now: model{}}
		write(t, m.db, func(w *tx.Writer) error {
			return w.Script(`DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n <> 13))`)
		})
		other := m.db
		if c.path == path {
			other = dbtest.OpenAt(t, path, nil, "")
		}
		for end := time.Now().Add(dbtest.Stress(t, 500*time.Millisecond) / 4); time.Now().Before(end); {
			m.step()
			for _, h := range []*sqlitex.DB{m.db, other} {
				require.Equal(t, m.now, m.read(h), "seed %d", seed)
			}
		}
		require.NoError(t, m.db.Close())
		require.NoError(t, other.Close())
	}
}

type pair struct{ ID, N int }

func asModel(t *testing.T, rows []pair, err error) model {
	t.Helper()
	require.NoError(t, err)
	got := model{}
	for _, r := range rows {
		got[r.ID] = r.N
	}
	return got
}

func (m *monkey) read(db *sqlitex.DB) model {
	rows, err := sqlitex.All[pair](bg, db, `SELECT id, n FROM t`)
	return asModel(m.t, rows, err)
}

// step runs one transaction, and moves the model on if it was committed.
func (m *monkey) step() {
	m.ctx, m.cancel = context.WithCancel(bg)
	defer m.cancel()
	if m.rnd.IntN(4) == 0 {
		m.single()
		return
	}
	var next model
	registered := 0
	m.hooks = 0
	done := make(chan struct{})
	var err error
	committed := false
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		err = m.db.Write(m.ctx, func(w *tx.Writer) error {
			next, registered = maps.Clone(m.now), 0
			return m.inside(w, next, &registered, 0)
		})
		committed = err == nil
	}()
	<-done
	if committed {
		m.now = next
		require.Equal(m.t, registered, m.hooks, "hooks of a commit")
	} else {
		require.Zero(m.t, m.hooks, "hooks without a commit")
	}
}

// single runs one statement by itself.
func (m *monkey) single() {
	id, n := m.rnd.IntN(20), m.rnd.IntN(15)
	_, err := m.db.Exec(m.ctx, `INSERT OR FAIL INTO t (id, n) VALUES (?, ?), (?, ?)`, id, n, id+1, n)
	_, one := m.now[id]
	_, two := m.now[id+1]
	if one || two || n == 13 {
		require.ErrorIs(m.t, err, tx.ErrConstraint)
		return
	}
	require.NoError(m.t, err)
	m.now[id], m.now[id+1] = n, n
}

// inside does some random things in a transaction or savepoint, and leaves it in a random way.
func (m *monkey) inside(w *tx.Writer, state model, hooks *int, depth int) error {
	for range m.rnd.IntN(6) {
		if err := m.act(w, state, hooks, depth); err != nil {
			return err
		}
		rows, err := tx.All[pair](w, `SELECT id, n FROM t`)
		if err != nil {
			return err
		}
		require.Equal(m.t, state, asModel(m.t, rows, nil), "inside")
	}
	switch m.rnd.IntN(12) {
	case 0:
		return errMonkey
	case 1:
		panic(errMonkey)
	case 2:
		runtime.Goexit()
	case 3:
		if depth == 0 {
			m.cancel()
		}
	}
	return nil
}

func (m *monkey) act(w *tx.Writer, state model, hooks *int, depth int) error {
	id, n := m.rnd.IntN(20), m.rnd.IntN(14)
	switch m.rnd.IntN(9) {
	case 0, 1:
		return m.insert(w, state, `INSERT INTO t (id, n) VALUES (?, ?)`, id, n)
	case 2:
		if m.rnd.IntN(10) == 0 {
			return m.insert(w, state, `INSERT OR ROLLBACK INTO t (id, n) VALUES (?, ?)`, id, n)
		}
		return m.insert(w, state, `INSERT OR FAIL INTO t (id, n) VALUES (?, ?)`, id, n)
	case 3:
		res, err := w.Exec(`DELETE FROM t WHERE id = ?`, id)
		_, had := state[id]
		if err == nil {
			require.Equal(m.t, had, res.RowsAffected == 1)
			delete(state, id)
		}
		return err
	case 4:
		return m.update(w, state, id)
	case 5:
		w.OnCommit(func() { m.hooks++ })
		*hooks++
		return nil
	case 6:
		_, err := w.Exec(fmt.Sprintf(`CREATE TABLE IF NOT EXISTS scratch_%d (x)`, m.rnd.IntN(3)))
		return err
	}
	if depth == 4 {
		return nil
	}
	return m.savepoint(w, state, hooks, depth)
}

func (m *monkey) insert(w *tx.Writer, state model, sql string, id, n int) error {
	_, had := state[id]
	_, err := w.Exec(sql, id, n)
	switch {
	case had || n == 13:
		require.ErrorIs(m.t, err, tx.ErrConstraint)
		if m.rnd.IntN(2) == 0 {
			return err
		}
		return nil // swallowed
	case err == nil:
		state[id] = n
	}
	return err
}

// update changes rows one by one in a loop, which it leaves at a random place.
func (m *monkey) update(w *tx.Writer, state model, stop int) error {
	for p, err := range tx.Each[pair](w, `UPDATE t SET n = n + 20 WHERE id < ? RETURNING id, n`, stop) {
		if err != nil {
			return err
		}
		require.Equal(m.t, state[p.ID]+20, p.N)
		if m.rnd.IntN(3) == 0 {
			break
		}
	}
	for id := range state {
		if id < stop {
			state[id] += 20
		}
	}
	return nil
}

func (m *monkey) savepoint(w *tx.Writer, state model, hooks *int, depth int) (err error) {
	before, hooksBefore := maps.Clone(state), *hooks
	undo := func() {
		clear(state)
		maps.Copy(state, before)
		*hooks = hooksBefore
	}
	defer func() {
		if r := recover(); r != nil {
			undo()
			if m.rnd.IntN(2) == 0 {
				panic(r)
			}
		}
	}()
	if err = w.Savepoint(func(w *tx.Writer) error { return m.inside(w, state, hooks, depth+1) }); err == nil {
		return nil
	}
	undo()
	if m.rnd.IntN(2) == 0 {
		return err
	}
	return nil
}
