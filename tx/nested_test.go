package tx_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// asks is a Valuer that reads from the transaction that binds it.
type asks struct{ q tx.Queryer }

func (a asks) Value() (driver.Value, error) { return tx.One[int64](a.q, `SELECT 1`) }

func TestAValuerThatUsesItsOwnTransactionGetsAnErrorNotADeadlock(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, `CREATE TABLE n (v INTEGER) STRICT`)
	err := db.Write(t.Context(), func(w *tx.Writer) error {
		_, err := w.Exec(`INSERT INTO n VALUES (?)`, asks{w})
		assert.ErrorIs(t, err, tx.ErrBusy)
		_, err = w.Exec(`INSERT INTO n VALUES (2)`)
		return err
	})
	require.NoError(t, err, "the transaction can go on")
}

func TestAScriptTakesTimeInProportionToItsLength(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, `CREATE TABLE n (v INTEGER) STRICT`)
	const statements = 50_000 // 1.3 MB; copying the rest for each would be 32 GB
	var script strings.Builder
	for i := range statements {
		fmt.Fprintf(&script, "INSERT INTO n VALUES (%d);\n", i)
	}
	require.NoError(t, db.Write(t.Context(), func(w *tx.Writer) error { return w.Script(script.String()) }))
	n, err := sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM n`)
	require.NoError(t, err)
	assert.Equal(t, statements, n)
}

func TestTemporaryObjectsOfSetupStay(t *testing.T) {
	t.Parallel()
	setup := func(_ context.Context, c *sqlite.Conn) error {
		return zsqlitex.ExecuteTransient(c, `CREATE TEMP VIEW answer AS SELECT 42 AS n`, nil)
	}
	db := dbtest.Open(t, &sqlitex.Options{Setup: setup}, `CREATE TABLE n (v INTEGER) STRICT`)
	require.NoError(t, db.Write(t.Context(), func(w *tx.Writer) error { return w.Script(`CREATE TEMP TABLE mine (a); CREATE TABLE other (a)`) }))
	for name, ask := range map[string]func() (int, error){
		"reader": func() (int, error) { return sqlitex.One[int](t.Context(), db, `SELECT n FROM answer`) },
		"writer": func() (int, error) {
			return tx.Write(t.Context(), db, func(w *tx.Writer) (int, error) { return tx.One[int](w, `SELECT n FROM answer`) })
		},
	} {
		n, err := ask()
		require.NoError(t, err, name)
		assert.Equal(t, 42, n, name)
	}
	_, err := tx.Write(t.Context(), db, func(w *tx.Writer) (int, error) { return tx.One[int](w, `SELECT count(*) FROM mine`) })
	require.Error(t, err, "the caller's own is gone")
}
