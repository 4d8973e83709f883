package sqltext

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

func TestWhatBeginsOrEndsATransactionIsRefusedWithTheMethodToUse(t *testing.T) {
	for sql, method := range map[string]string{
		"BEGIN IMMEDIATE": "Write", "/**/; commit": "return nil", "End": "return nil", "ROLLBACK": "return an error",
		"SAVEPOINT a": "Savepoint", "release a": "Savepoint", "ATTACH 'x' AS y": "WriteConn", "DETACH y": "WriteConn",
		"VACUUM": "Vacuum method", "vacuum into 'x'": "Vacuum method", "EXPLAIN VACUUM": "Vacuum method",
	} {
		_, err := Check(sql, true)
		require.ErrorIs(t, err, sqlerr.ErrNotAllowed, sql)
		assert.ErrorContains(t, err, method, sql)
	}
	for _, sql := range []string{"SELECT 1", "INSERT INTO t VALUES (1)", "CREATE TEMP TABLE t (a)", "ANALYZE", "nonsense"} {
		_, err := Check(sql, false)
		assert.NoError(t, err, sql)
	}
}

func TestAnEmptyStatementIsRefused(t *testing.T) {
	for _, sql := range []string{"", " ;; ", "-- c", "/**"} { // case S3
		_, err := Check(sql, true)
		assert.ErrorIs(t, err, sqlerr.ErrSyntax, "%q", sql)
	}
}

func TestPragmasThatOnlyReadPassAndTheOthersDoNot(t *testing.T) { // case P10
	const nobody, writer, everyone = 0, 1, 2
	for sql, who := range map[string]int{
		"PRAGMA foreign_keys": everyone, "PRAGMA foreign_keys = OFF": nobody, "EXPLAIN PRAGMA foreign_keys = OFF": nobody,
		"PRAGMA cache_size(5)": nobody, "PRAGMA temp.cache_size": everyone,
		"PRAGMA journal_mode": everyone, "PRAGMA journal_mode=DELETE": nobody,
		"PRAGMA table_info(t)": everyone, "PRAGMA main.table_xinfo = 't'": everyone, "PRAGMA table_list": everyone,
		"PRAGMA index_info(i)": everyone, "PRAGMA index_xinfo(i)": everyone, "PRAGMA index_list(t)": everyone,
		"PRAGMA foreign_key_list(t)": everyone, "PRAGMA foreign_key_check": everyone, "PRAGMA foreign_key_check(t)": everyone,
		"PRAGMA integrity_check(10)": everyone, "PRAGMA quick_check": everyone,
		"PRAGMA user_version": everyone, "PRAGMA user_version = 3": writer, "PRAGMA main.application_id(7)": writer,
		"PRAGMA temp.user_version": everyone, "PRAGMA temp.user_version = 3": nobody,
		"PRAGMA optimize": writer, "PRAGMA optimize(0x10002)": writer,
		"PRAGMA incremental_vacuum": writer, "PRAGMA incremental_vacuum(10)": writer,
		"PRAGMA defer_foreign_keys": everyone, "PRAGMA defer_foreign_keys = ON": writer,
		"PRAGMA wal_checkpoint": nobody, "PRAGMA wal_checkpoint(TRUNCATE)": nobody, "PRAGMA shrink_memory": nobody,
		"PRAGMA foreign_kyes": nobody, "PRAGMA": nobody, "PRAGMA writable_schema=1": nobody,
	} {
		_, err := Check(sql, false)
		assert.Equal(t, who == everyone, err == nil, "%s in Read: %v", sql, err)
		_, err = Check(sql, true)
		assert.Equal(t, who >= writer, err == nil, "%s in Write: %v", sql, err)
		if err != nil {
			assert.ErrorIs(t, err, sqlerr.ErrNotAllowed)
		}
	}
}

func TestARefusedPragmaNamesTheWayButNotTheValue(t *testing.T) {
	_, err := Check("PRAGMA main.wal_checkpoint(secret)", true)
	assert.EqualError(t, err, "sqlite: PRAGMA main.wal_checkpoint with a value is not allowed here: use Checkpoint")
}

// A pragma that a later SQLite adds must be decided upon.
func TestEveryPragmaOfThisSQLiteIsKnown(t *testing.T) {
	s, _, err := open(t).Prepare("PRAGMA pragma_list", false)
	require.NoError(t, err)
	defer s.Finalize()
	for {
		row, err := s.Step()
		require.NoError(t, err)
		if !row {
			return
		}
		assert.Contains(t, pragmas, string(s.ColumnText(0)))
	}
}
