package sqlitex_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// Nothing is paid for the possibility to share where there is nobody to share with.
func TestALoneExecAllocatesNothing(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	db := dbtest.Open(t, nil, schema)
	ctx := context.Background()
	insert(t, db, "first")
	for sql, args := range map[string][]any{
		`INSERT INTO t (v) VALUES ('constant')`:             nil,
		`INSERT INTO t (v) VALUES (?)`:                      {"a string"},
		`UPDATE t SET v = ? WHERE id = ?`:                   {"b", 1},
		`DELETE FROM t WHERE id = ? AND ? IS NULL`:          {int64(3), nil},
		`INSERT OR IGNORE INTO t (id, v) VALUES (?, ?)`:     {1, "again"},
		`UPDATE t SET v = v WHERE id = ? AND v <> ?`:        {true, 1.5},
		`SELECT id FROM t WHERE id = ?`:                     {1},
		`WITH x(v) AS (VALUES (1)) DELETE FROM t WHERE 1=0`: nil,
	} {
		n := testing.AllocsPerRun(200, func() {
			_, err := db.Exec(ctx, sql, args...)
			require.NoError(t, err)
		})
		assert.Zero(t, n, sql)
	}
}
