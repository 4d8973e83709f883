//go:build unix

package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/pagecache"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

func needSurviving(t testing.TB) {
	t.Helper()
	if pagecache.Installed() != pagecache.Surviving {
		t.Skipf("page cache: %v", pagecache.Installed())
	}
}

func TestACacheSurvivesCommits(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	require.True(t, r.snap.Survives())
	r.renew()
	for i := range 20 {
		script(t, w, fmt.Sprintf("UPDATE t SET k = k + 1 WHERE id = %d", 1+i*250))
		r.acquire()
		assert.Equal(t, int64(i+1), value(t, r.conn.Zombie(), sumOfK))
		r.release()
		r.renew()
	}
	assert.EqualValues(t, 20, r.uses.Survived)
	assert.Zero(t, r.uses.Dropped)
	assert.EqualValues(t, 20, r.uses.Reused)
}

// Condition 1: nobody knows what the pages of a cache belong to after others had the connection.
func TestACacheIsDroppedAfterOthersHadTheConnection(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	r.renew()
	r.snap.Forget() // open as it is
	r.renew()
	assert.Zero(t, r.uses.Reused)
	r.snap.GiveUp()
	r.snap.Forget()
	script(t, w, setSome)
	r.renew()
	assert.Zero(t, r.uses.Survived)
	script(t, w, setSome)
	r.renew()
	assert.EqualValues(t, 1, r.uses.Survived)
}

// Condition 1: what a caller makes of rows is his own affair, but after an error of SQLite's nothing is known.
func TestNothingIsKnownAfterAnErrorOfSQLites(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	r := openReader(t, path, 0)
	r.renew()
	r.acquire()
	r.snap.Release(errors.New("the caller's"))
	assert.True(t, r.known())
	assert.True(t, r.snap.Kept())
	r.acquire()
	r.snap.Release(fmt.Errorf("wrapped: %w", &sqlerr.Error{Code: sqlite.ResultIOErr}))
	assert.False(t, r.known())
	assert.False(t, r.snap.Kept())
	script(t, w, setSome)
	r.renew()
	assert.Zero(t, r.uses.Survived)
}

// Condition 1: a log without a commit has no snapshot to ask SQLite for. Then two looks at the header must agree, and a
// torn one is not taken for the truth.
func TestATornHeaderIsNotTakenForASnapshot(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	script(t, w, "PRAGMA wal_checkpoint(TRUNCATE)")
	r := openReader(t, path, 0)
	needSurviving(t)
	// Recovery of an empty log makes a header of zeros.
	tear(t, path, "second")
	r.renew()
	assert.False(t, r.known(), "whole before, but the transaction itself has made another one")
	r.renew()
	require.True(t, r.known(), "the same before and after")
	header, _ := r.snap.Header()
	require.Zero(t, header[6]|header[7]|header[8]|header[9], "a header without salts is not what this test has made")
	r.acquire()
	assert.EqualValues(t, 1, r.count().Reused+r.uses.Reused)
	r.release()
	tear(t, path, "first")
	r.renew()
	assert.False(t, r.known(), "torn before, and repaired by the transaction itself")
	script(t, w, setSome)
	r.renew()
	assert.True(t, r.known())
	script(t, w, setSome)
	r.renew()
	assert.EqualValues(t, 1, r.uses.Survived)
}

// Condition 2: what stays active over COMMIT keeps the old snapshot, although the header looks newer.
func TestWhatIsLeftActiveDoesNotKeepAnOldSnapshot(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, c *sqlite.Conn) (stop func() error){
		"a statement": func(t *testing.T, c *sqlite.Conn) func() error {
			s, _, err := c.PrepareTransient("SELECT id FROM t")
			require.NoError(t, err)
			_, err = s.Step()
			require.NoError(t, err)
			return s.Finalize
		},
		"a blob": func(t *testing.T, c *sqlite.Conn) func() error {
			b, err := c.OpenBlob("", "o", "b", 1, false)
			require.NoError(t, err)
			return b.Close
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, w := newDatabase(t)
			r := openReader(t, path, 0)
			r.renew()
			r.acquire()
			stop := start(t, r.conn.Zombie())
			r.release()
			script(t, w, setSome)
			r.acquire()
			assert.EqualValues(t, 101, value(t, r.conn.Zombie(), sumOfK))
			r.release()
			assert.Zero(t, r.uses.Survived, "nothing is known of such a snapshot")
			require.NoError(t, stop())
			script(t, w, setSome)
			r.renew()
			if pagecache.Installed() == pagecache.Surviving {
				assert.EqualValues(t, 1, r.uses.Survived)
			}
		})
	}
}

// Condition 3: the first attempt of a transaction finds a lock, the second one another header: two clearings.
func TestACacheThatIsClearedTwiceIsDropped(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	r.renew()
	r.snap.GiveUp()
	script(t, w, setSome)
	release := tear(t, path, "hold")
	waiting := make(chan struct{})
	ctx := &notifies{Context: context.Background(), waiting: waiting}
	go func() {
		<-waiting
		release()
	}()
	require.NoError(t, r.snap.Acquire(ctx))
	r.count()
	assert.Zero(t, r.uses.Survived)
	assert.EqualValues(t, 1, r.uses.Dropped)
	r.renew()
	script(t, w, setSome)
	r.renew()
	assert.EqualValues(t, 1, r.uses.Survived)
}

// notifies is a context that tells when somebody waits for it.
type notifies struct {
	context.Context
	waiting chan struct{}
}

func (n *notifies) Done() <-chan struct{} {
	if n.waiting != nil {
		close(n.waiting)
		n.waiting = nil
	}
	return n.Context.Done()
}

// held returns the memory that the page cache of r takes; it closes r. For tests that run alone.
func (r *reader) held() int64 {
	before := pagecache.Allocated()
	r.close()
	return before - pagecache.Allocated()
}

// Condition 4: the log has started over. What was set aside is freed too.
func TestACacheIsDroppedWhenTheLogStartsOver(t *testing.T) {
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	r.renew()
	r.snap.GiveUp()
	script(t, w, setSome+"; PRAGMA wal_checkpoint; UPDATE o SET b = zeroblob(20)")
	r.renew()
	assert.Zero(t, r.uses.Survived)
	assert.EqualValues(t, 1, r.uses.Dropped)
	r.snap.GiveUp()
	script(t, w, setSome+"; PRAGMA wal_checkpoint(TRUNCATE)")
	r.acquire()
	assert.Zero(t, r.uses.Survived)
	assert.Less(t, r.held(), int64(10_000))
}

// Condition 4: the database has become smaller.
func TestPagesBeyondTheEndAreDropped(t *testing.T) {
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	r.renew()
	script(t, w, "CREATE TABLE z (b)")
	for i := range 3 {
		script(t, w, fmt.Sprintf("INSERT INTO z VALUES (randomblob(%d))", 200000+i))
		r.renew()
		script(t, w, "DELETE FROM z; VACUUM") // which rewrites all the others
		r.renew()
	}
	script(t, w, "INSERT INTO z VALUES (randomblob(200000))")
	r.renew()
	script(t, w, "DELETE FROM z; VACUUM")
	r.acquire()
	assert.EqualValues(t, 8, r.uses.Survived)
	assert.Less(t, r.held(), int64(10_000))
}

// The age of a snapshot is counted in ticks; 32 bits of them may wrap around.
func TestASnapshotIsKeptForOneToTwoTicks(t *testing.T) {
	t.Parallel()
	path, _ := newDatabase(t)
	r := openReader(t, path, 0)
	r.renew()
	require.True(t, r.snap.Kept())
	r.keep.Tick()
	assert.False(t, r.snap.Expired())
	r.keep.Tick()
	assert.True(t, r.snap.Expired())
	r.acquire()
	assert.Zero(t, r.uses.Reused)
	r.release()
	r.keep.Suspend()
	assert.True(t, r.snap.Expired())
	r.acquire()
	assert.Zero(t, r.uses.Reused)
	r.release()
	assert.False(t, r.snap.Kept(), "suspended")
	r.keep.Resume()
	r.renew()
	assert.True(t, r.snap.Kept())
	assert.Zero(t, r.uses.Survived, "nothing was committed, so SQLite did not clear the cache")
}

// What a cache costs to keep is no reason to read an old state: one commit after the other must be seen at once.
func TestEveryCommitIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	r := openReader(t, path, 0)
	end := time.Now().Add(200 * time.Millisecond)
	for i := int64(1); time.Now().Before(end); i++ {
		script(t, w, "UPDATE t SET k = k + 1 WHERE id = 17")
		r.acquire()
		require.Equal(t, i, value(t, r.conn.Zombie(), "SELECT k FROM t WHERE id = 17"))
		r.release()
	}
}
