package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

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
	tear(t, path, false)
	r.renew()
	assert.False(t, r.known(), "torn before, and repaired by the transaction itself")
	r.renew()
	require.True(t, r.known(), "the same before and after")
	header, _ := r.snap.Header()
	require.Zero(t, header[6]|header[7]|header[8]|header[9], "a header without salts is not what this test has made")
	r.acquire()
	assert.EqualValues(t, 1, r.count().Reused+r.uses.Reused)
	r.release()
	tear(t, path, false)
	r.renew()
	assert.False(t, r.known())
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
			assert.EqualValues(t, 1, r.uses.Survived)
		})
	}
}

// Condition 2: SQLite rolls a transaction back by itself after an I/O error, whatever the caller makes of it.
func TestNothingIsKnownAfterSQLiteRolledBackByItself(t *testing.T) {
	path, w := newDatabase(t)
	r := openReader(t, path, 10)
	r.renew()
	r.acquire()
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
	r := openReader(t, path, 10)
	r.renew()
	r.acquire()
	s, _, err := r.conn.Zombie().PrepareTransient("SELECT id FROM t")
	require.NoError(t, err)
	_, err = s.Step()
	require.NoError(t, err)
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
	release := tear(t, path, true) // the transaction finds locks, but has cleared its cache by then
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

// Condition 3: the first attempt of a transaction finds a lock, the second one another header: two clearings.
func TestACacheThatIsClearedTwiceIsDropped(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	needSurviving(t)
	r := openReader(t, path, 0)
	r.renew()
	r.snap.GiveUp()
	script(t, w, setSome)
	release := tear(t, path, true)
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

// case X4: another program truncates the -shm file while a snapshot is kept.
func TestATruncatedIndexIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"nothing is left of it": 0, "its later regions are gone": 32768} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, w := newDatabase(t)
			r := openReader(t, path, 10)
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
				err = zsqlitex.ExecuteTransient(r.conn.Zombie(), sumOfK, nil)
			}
			require.Error(t, err)
			r.snap.Release(err)
			assert.False(t, r.snap.Kept())
			assert.False(t, r.known())
		})
	}
}
