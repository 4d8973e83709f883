//go:build unix

package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lib "modernc.org/sqlite/lib"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/pagecache"
)

// Condition 2: SQLite rolls a transaction back by itself after an I/O error, whatever the caller makes of it.
func TestNothingIsKnownAfterSQLiteRolledBackByItself(t *testing.T) {
	path, w := newDatabase(t)
	r := openReader(t, path, 0)
	r.renew()
	r.acquire()
	script(t, r.conn.Zombie(), "PRAGMA shrink_memory")
	lib.SehInject(1) // a fault at the next look into the WAL-index
	err := zsqlitex.ExecuteTransient(r.conn.Zombie(), sumOfK, nil)
	lib.SehInject(0)
	require.Error(t, err)
	require.True(t, r.conn.Autocommit())
	r.snap.Release(nil) // the caller swallows it
	assert.False(t, r.known())
	assert.False(t, r.snap.Kept())
	script(t, w, setSome)
	r.renew()
	assert.Zero(t, r.uses.Survived)
	assert.EqualValues(t, 101, value(t, r.conn.Zombie(), sumOfK))
}

// Condition 2: such a rollback does not end a statement that is active beside the failing one, and which keeps the snapshot.
func TestAStatementLeftActiveOverARollbackDoesNotKeepAnOldSnapshot(t *testing.T) {
	path, w := newDatabase(t)
	r := openReader(t, path, 0)
	r.renew()
	r.acquire()
	s, _, err := r.conn.Zombie().PrepareTransient("SELECT id FROM t")
	require.NoError(t, err)
	_, err = s.Step()
	require.NoError(t, err)
	script(t, r.conn.Zombie(), "PRAGMA shrink_memory")
	lib.SehInject(1)
	err = zsqlitex.ExecuteTransient(r.conn.Zombie(), sumOfK, nil)
	lib.SehInject(0)
	require.Error(t, err)
	require.True(t, r.conn.Autocommit())
	r.snap.Release(nil)
	script(t, w, setSome)
	r.acquire()
	assert.EqualValues(t, 101, value(t, r.conn.Zombie(), sumOfK))
	r.release()
	require.NoError(t, s.Finalize())
}

// Condition 6: the transaction cannot begin.
func TestARenewalThatFailsGivesNothingBack(t *testing.T) {
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	r.renew()
	r.snap.GiveUp()
	for site := int32(1); ; site++ {
		script(t, w, setSome)
		lib.SehInject(site)
		err := r.snap.Acquire(context.Background())
		done := lib.SehPending() > 0
		lib.SehInject(0)
		if done {
			require.NoError(t, err)
			require.Greater(t, site, int32(2), "places that can fail")
			r.release()
			return
		}
		require.Error(t, err)
		assert.False(t, r.known())
		assert.False(t, r.snap.Kept())
		r.count()
		before := r.uses.Survived
		r.renew()
		assert.Equal(t, before, r.uses.Survived)
		script(t, w, setSome)
		r.renew()
		assert.Equal(t, before+1, r.uses.Survived)
		r.snap.GiveUp()
	}
}

// panics is a context that panics when somebody waits for it.
type panics struct{ context.Context }

var errWaited = errors.New("waited")

func (panics) Done() <-chan struct{} { panic(errWaited) }

// Condition 6: a renewal that has set everything aside, and ends by a panic.
func TestARenewalThatPanicsGivesNothingBack(t *testing.T) {
	path, w := newDatabase(t)
	needSurviving(t)
	script(t, w, setSome)
	others := pagecache.Allocated()
	r := openReader(t, path, 0)
	r.renew()
	r.snap.GiveUp()
	script(t, w, setSome)
	require.Greater(t, pagecache.Allocated(), others+300_000)
	release := tear(t, path, "hold") // the transaction finds locks, but has cleared its cache by then
	assert.PanicsWithValue(t, errWaited, func() { _ = r.snap.Acquire(panics{context.Background()}) })
	assert.Less(t, pagecache.Allocated(), others+100_000, "nothing stays set aside")
	assert.False(t, r.known())
	release()
	r.conn.Rollback()
	r.renew()
	assert.Zero(t, r.uses.Survived)
	script(t, w, setSome)
	r.renew()
	assert.EqualValues(t, 1, r.uses.Survived)
}

// case X4: another program truncates the -shm file while a snapshot is kept.
func TestATruncatedIndexIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"nothing is left of it": 0, "its later regions are gone": 32768} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, w := newDatabaseToDamage(t)
			r := openReader(t, path, 0)
			for i := range 15 {
				script(t, w, fmt.Sprintf("UPDATE t SET k = k + %d", i))
			}
			r.renew()
			header, _ := r.snap.Header()
			require.Greater(t, header[4], uint32(4062))
			require.True(t, r.snap.Kept())
			require.NoError(t, os.Truncate(path+"-shm", size))
			err := r.snap.Acquire(context.Background())
			if err == nil { // the header is as it was
				script(t, r.conn.Zombie(), "PRAGMA shrink_memory")
				err = zsqlitex.ExecuteTransient(r.conn.Zombie(), sumOfK, nil)
			}
			require.Error(t, err)
			r.snap.Release(err)
			assert.False(t, r.snap.Kept())
			assert.False(t, r.known())
		})
	}
}
