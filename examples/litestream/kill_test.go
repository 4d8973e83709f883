package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const (
	writers = 4

	// Entries are numbered without gaps, in the order of their commits. The totals change in the same transaction: a copy that is
	// not as of one moment does not fit them.
	entriesSchema = `
		CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, body TEXT NOT NULL, mark INTEGER NOT NULL) STRICT;
		CREATE INDEX IF NOT EXISTS entries_by_mark ON entries (mark);
		CREATE TABLE IF NOT EXISTS total (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
		INSERT OR IGNORE INTO total VALUES (1, 0, 0);
		CREATE TRIGGER IF NOT EXISTS entries_counted AFTER INSERT ON entries BEGIN
			UPDATE total SET entries = entries + 1, bytes = bytes + length(new.body);
		END;`
)

var external = &sqlitex.Options{Checkpoints: sqlitex.CheckpointsExternal}

// write is a child process: it writes from several goroutines and reads beside it, until it is killed or standard input ends,
// and prints the id of each entry once it is committed. An error, ErrBusy above all, ends it.
func write(args []string) {
	ctx := context.Background()
	db, err := sqlitex.Open(ctx, args[0], external)
	failed := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	failed(err)
	failed(db.Write(ctx, func(w *tx.Writer) error { return w.Script(entriesSchema) }))
	for range writers {
		go func() {
			for {
				body := strings.Repeat("x", 1+rand.IntN(1000))
				id, err := sqlitex.ExecOne[int64](ctx, db, `INSERT INTO entries (body, mark) VALUES (?, ?) RETURNING id`, body, rand.Int64())
				failed(err)
				fmt.Println(id)
			}
		}()
	}
	go func() {
		for {
			_, err := sqlitex.One[int64](ctx, db, `SELECT entries FROM total`)
			failed(err)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println("longest wait:", db.Stats().Writer.WaitLongest) // nobody reads it after a SIGKILL
}

// writing is such a process as its parent sees it.
type writing struct {
	acknowledged atomic.Int64 // the highest id
	count        atomic.Int64 // of ids
	kill         func()
}

func startWriting(t *testing.T, database string) *writing {
	t.Helper()
	c := dbtest.Command(t, "write", database)
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	w := &writing{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			id, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil { // also where the last line is torn: it was not told then, but nearly
				if strings.HasPrefix(lines.Text(), "error") {
					t.Errorf("the writer met an %s", lines.Text())
				}
				continue
			}
			w.count.Add(1)
			w.acknowledged.Store(max(w.acknowledged.Load(), id))
		}
	}()
	killed := false
	w.kill = func() {
		if killed {
			return
		}
		killed = true
		_ = c.Process.Kill()
		<-read
		_ = c.Wait()
		_ = stdin.Close()
	}
	t.Cleanup(w.kill)
	return w
}

// entries checks a database, and returns how many entries there are.
func entries(t *testing.T, path string, o *sqlitex.Options) (n int64) {
	t.Helper()
	db, err := sqlitex.Open(t.Context(), path, o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	require.NoError(t, db.Check(t.Context()))
	require.NoError(t, db.Read(t.Context(), func(r *tx.Reader) error {
		type sums struct{ First, Last, Entries, Bytes int64 }
		found, err := tx.One[sums](r, `SELECT coalesce(min(id), 1) AS first, coalesce(max(id), 0) AS last, count(*) AS entries,
			coalesce(sum(length(body)), 0) AS bytes FROM entries`)
		require.NoError(t, err)
		total, err := tx.One[sums](r, `SELECT 1 AS first, entries AS last, entries, bytes FROM total`)
		require.NoError(t, err)
		assert.Equal(t, total, found, "entries are numbered 1 to n without a gap, and as many as were counted")
		n = found.Last
		return nil
	}))
	return n
}

// killRounds kills writer and Litestream, restores, compares, and goes on with the same database and replica.
func killRounds(t *testing.T, replica string) {
	database := t.TempDir() + "/notes.db"
	r := newReplication(t, database, replica,
		"monitor-interval: 20ms", "min-checkpoint-page-count: 100", "truncate-page-n: 5000", "checkpoint-interval: 1s")
	before := int64(0)
	end := time.Now().Add(dbtest.Stress(t, 0))
	for round := 1; round <= 3 || time.Now().Before(end); round++ {
		var killLitestream func()
		w := &writing{}
		if round%2 == 1 { // either may be the first to find what the last round has left
			w = startWriting(t, database)
			killLitestream = r.start(t)
		} else {
			killLitestream = r.start(t)
			w = startWriting(t, database)
		}
		eventually(t, func() bool { return w.count.Load() > 0 || t.Failed() }, "the first entry")
		r.waitSynced(t)
		synced, txid := int64(0), uint64(0)
		for range 1 + rand.IntN(4) {
			acknowledged := w.acknowledged.Load()
			var err error
			txid, err = r.sync(t.Context())
			require.NoError(t, err)
			synced = acknowledged
		}
		last := w.acknowledged.Load() + rand.Int64N(3000)
		eventually(t, func() bool { return w.acknowledged.Load() >= last || t.Failed() }, "some more entries")
		if rand.IntN(2) == 0 {
			w.kill()
			killLitestream()
		} else {
			killLitestream()
			w.kill()
		}
		require.False(t, t.Failed())

		restored := r.restore(t)
		n := entries(t, restored, nil)
		dbtest.Verify(t, restored)
		written := entries(t, database, external)
		acknowledged := w.acknowledged.Load()
		t.Logf("round %d: %d entries synced as transaction %d; %d restored, %d acknowledged, %d in the database",
			round, synced, txid, n, acknowledged, written)
		assert.GreaterOrEqual(t, n, synced, "what was synced is in the replica")
		assert.LessOrEqual(t, n, written, "the replica has nothing that was never there")
		assert.GreaterOrEqual(t, written, acknowledged, "what was acknowledged is in the database")
		assert.LessOrEqual(t, written, before+w.count.Load()+writers, "and beside it what was in flight")
		require.False(t, t.Failed())
		before = written
	}
}

func TestAReplicaInAFolderHasAllThatWasSyncedBeforeSIGKILL(t *testing.T) {
	killRounds(t, folderReplica(t.TempDir()))
}

func TestAReplicaInS3HasAllThatWasSyncedBeforeSIGKILL(t *testing.T) {
	killRounds(t, s3Replica(t))
}
