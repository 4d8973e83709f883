package wait_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/wait"
)

var busy error = &sqlerr.Error{Code: sqlite.ResultBusySnapshot, Offset: -1}

// after answers busy n times and err from then on, and counts.
func after(n int, err error) (try func() error, calls *int) {
	calls = new(int)
	return func() error {
		if *calls++; *calls <= n {
			return busy
		}
		return err
	}, calls
}

func TestLockTriesUntilTheLockIsGone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 7} {
		for _, limit := range []time.Duration{time.Minute, -1} {
			try, calls := after(n, nil)
			require.NoError(t, wait.Lock(t.Context(), limit, "it", try))
			assert.Equal(t, n+1, *calls)
		}
	}
}

func TestLockPassesOtherErrorsOnAtOnce(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, err := range []error{boom, &sqlerr.Error{Code: sqlite.ResultLocked}, &sqlerr.Error{Code: sqlite.ResultInterrupt}} {
		for _, n := range []int{0, 2} {
			try, calls := after(n, err)
			require.Equal(t, err, wait.Lock(t.Context(), time.Minute, "it", try))
			assert.Equal(t, n+1, *calls)
		}
	}
}

func TestLockEndsWithTheLimitAndSaysWhat(t *testing.T) {
	t.Parallel()
	const limit = 20 * time.Millisecond
	try, calls := after(1<<30, nil)
	start := time.Now()
	err := wait.Lock(t.Context(), limit, "the moon", try)
	assert.Less(t, time.Since(start), 2*time.Second)
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	found := new(sqlerr.BusyError)
	require.ErrorAs(t, err, &found)
	assert.Equal(t, "the moon", found.For)
	assert.GreaterOrEqual(t, found.Waited, limit)
	assert.Greater(t, *calls, 2, "it knocks again and again")
	assert.ErrorContains(t, err, "the moon")
	assert.ErrorContains(t, err, "SQLITE_BUSY_SNAPSHOT", "what SQLite answered last")
}

func TestLockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{time.Hour, -1} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := wait.Lock(ctx, limit, "it", func() error {
			if calls++; calls == 3 {
				cancel()
			}
			return busy
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, sqlerr.ErrBusy, "it was not the lock that ended it")
		assert.LessOrEqual(t, calls, 4)
		cancel()
	}
}

// Where the lock is free there is nothing to wait for: the caller looks at its context itself.
func TestLockTriesOnceUnderADoneContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	try, calls := after(0, nil)
	require.NoError(t, wait.Lock(ctx, time.Minute, "it", try))
	assert.Equal(t, 1, *calls)
}
