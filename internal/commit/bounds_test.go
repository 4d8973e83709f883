package commit_test

import (
	"context"
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

// together has calls queue for the writer before it is free, and returns how many transactions were made of them.
func together(t *testing.T, db *sqlitex.DB, calls ...func() error) (commits, callers int64) {
	t.Helper()
	held, free, holding, done := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, len(calls))
	go func() {
		holding <- db.WriteConn(context.Background(), func(*sqlite.Conn) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	before := db.Stats().Writer
	for i, call := range calls {
		go func() { done <- call() }()
		require.Eventually(t, func() bool { return db.Stats().Writer.Queued == i+1 }, 20*time.Second, 50*time.Microsecond)
	}
	close(free)
	require.NoError(t, <-holding)
	for range calls {
		require.NoError(t, <-done)
	}
	after := db.Stats().Writer
	return after.Commits - before.Commits, after.Callers - before.Callers
}

// The first caller does not work for all who come after.
func TestASharedTransactionIsBoundedInSizeAndTime(t *testing.T) {
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: time.Minute}, schema)
	defer func(parts int, d time.Duration) { commit.MostParts, commit.Longest = parts, d }(commit.MostParts, commit.Longest)
	quick := func() error {
		_, err := db.Exec(context.Background(), `UPDATE total SET n = n + 1`)
		return err
	}

	commit.MostParts, commit.Longest = 9, time.Minute
	calls := make([]func() error, 35)
	for i := range calls {
		calls[i] = quick
	}
	n, callers := together(t, db, calls...)
	assert.Equal(t, []int64{4, 35}, []int64{n, callers}, "ten each")

	commit.MostParts, commit.Longest = 512, 50*time.Millisecond
	slow := func() error {
		return db.Batch(context.Background(), func(w *tx.Writer) error {
			for end := time.Now().Add(60 * time.Millisecond); time.Now().Before(end); {
			}
			_, err := w.Exec(`UPDATE total SET n = n + 1`)
			return err
		})
	}
	n, callers = together(t, db, quick, slow, quick, slow, quick, slow, quick)
	assert.Equal(t, []int64{4, 7}, []int64{n, callers}, "none after a slow one")
	total, err := sqlitex.One[int](t.Context(), db, `SELECT n FROM total`)
	require.NoError(t, err)
	assert.Equal(t, 42, total)
}
