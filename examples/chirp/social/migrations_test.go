package social

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case T5: users is made anew while rows of all other tables refer to it with ON DELETE CASCADE.
func TestEveryVersionBecomesTheNewestAndLosesNothing(t *testing.T) {
	t.Parallel()
	for version := range len(migrations) + 1 {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			db, err := sqlitex.Open(t.Context(), path, nil)
			require.NoError(t, err)
			require.NoError(t, migrate(t.Context(), db, migrations[:version]))
			if version > 0 {
				require.NoError(t, db.Write(t.Context(), func(w *tx.Writer) error {
					return w.Script(`INSERT INTO users VALUES (1, 'ann_x', 'Ann', 1), (2, 'bob', 'Bob', 2), (3, 'cleo', 'Cleo', 3);
						INSERT INTO posts (id, user_id, body, created_at) VALUES (1, 1, 'one', 1), (2, 2, 'two', 2);
						INSERT INTO follows VALUES (3, 1), (3, 2); INSERT INTO likes VALUES (1, 2), (1, 3); INSERT INTO mentions VALUES (3, 1);`)
				}))
			}
			require.NoError(t, db.Close())

			n, err := Open(t.Context(), path, nil)
			require.NoError(t, err)
			defer func() { assert.NoError(t, n.Close(t.Context())) }()
			require.NoError(t, n.DB().Check(t.Context()), "foreign keys, too")
			on, err := sqlitex.ExecOne[bool](t.Context(), n.DB(), `PRAGMA foreign_keys`)
			require.NoError(t, err)
			assert.True(t, on, "switched off for the migration only")
			if version == 0 {
				return
			}
			posts, err := n.Timeline(t.Context(), 3, 0, 10)
			require.NoError(t, err)
			require.Len(t, posts, 2)
			assert.Equal(t, []any{"one", "ann_x", int64(2)}, []any{posts[1].Body, posts[1].Handle, posts[1].Likes})
			mentions, err := n.Mentions(t.Context(), 3, 0, 10)
			require.NoError(t, err)
			assert.Len(t, mentions, 1)
			_, err = n.DB().Exec(t.Context(), `DELETE FROM users WHERE id = 1`)
			require.NoError(t, err)
			left, err := sqlitex.One[int](t.Context(), n.DB(), `SELECT (SELECT count(*) FROM posts) + (SELECT count(*) FROM likes)`)
			require.NoError(t, err)
			assert.Equal(t, 1, left, "and the references still work")
		})
	}
}

func TestHandlesThatDifferInCaseOnlyAreToldApart(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db, err := sqlitex.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, migrate(t.Context(), db, migrations[:2]))
	_, err = db.Exec(t.Context(), `INSERT INTO users VALUES (1, 'Ann', 'A', 1), (2, 'ann', 'B', 2)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	n, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, n.Close(t.Context())) }()
	handles, err := sqlitex.All[string](t.Context(), n.DB(), `SELECT handle FROM users ORDER BY id`)
	require.NoError(t, err)
	assert.Equal(t, []string{"Ann", "ann_2"}, handles)
}

func TestAMigrationThatFailsLeavesTheOldVersion(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, "")
	require.NoError(t, migrate(t.Context(), db, migrations[:1]))
	_, err := db.Exec(t.Context(), `INSERT INTO users VALUES (1, 'ann', 'Ann', 1)`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `INSERT INTO posts VALUES (1, 1, 'one', 1)`)
	require.NoError(t, err)
	for name, bad := range map[string]string{
		"an error":            `CREATE TABLE other (a); nonsense`,
		"a row left dangling": `CREATE TABLE other (a); DROP TABLE users; CREATE TABLE users (id INTEGER PRIMARY KEY)`,
	} {
		require.Error(t, migrate(t.Context(), db, []string{migrations[0], bad}), name)
		version, err := sqlitex.One[int](t.Context(), db, `PRAGMA user_version`)
		require.NoError(t, err)
		assert.Equal(t, 1, version, name)
		names, err := sqlitex.All[string](t.Context(), db, `SELECT name FROM users`)
		require.NoError(t, err)
		assert.Equal(t, []string{"Ann"}, names, name)
		exists, err := sqlitex.One[bool](t.Context(), db, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'other')`)
		require.NoError(t, err)
		assert.False(t, exists, name)
	}
}

func TestADatabaseOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	n, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, n.DB().WriteConn(t.Context(), func(c *sqlite.Conn) error {
		s, _, err := c.PrepareTransient(`PRAGMA user_version = 99`)
		if err != nil {
			return err
		}
		_, err = s.Step()
		if finalizeErr := s.Finalize(); err == nil {
			err = finalizeErr
		}
		return err
	}))
	require.NoError(t, n.Close(t.Context()))
	_, err = Open(t.Context(), path, nil)
	require.ErrorIs(t, err, ErrNewer)
	require.ErrorContains(t, err, path)
}
