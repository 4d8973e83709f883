package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// Under load both processes are killed, over and over. Each time the replica has, without a gap, at least all that was
// acknowledged before the last sync, the machine's own file has all that was ever acknowledged, and both go on from there. In
// the end the disk is lost too, and the service restores itself.
func TestWhatWasSyncedSurvivesTheLossOfTheMachine(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		survives(t, fmt.Sprintf("      type: file\n      path: %s\n", filepath.Join(t.TempDir(), "replica")))
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		survives(t, fmt.Sprintf(`      type: s3
      bucket: notes
      path: db
      endpoint: http://%s
      region: us-east-1
      force-path-style: true
      access-key-id: test
      secret-access-key: test-secret
`, serveS3(t)))
	})
}

func survives(t *testing.T, replica string) {
	t.Helper()
	m := newMachine(t, replica)
	acknowledged := map[int64]string{}
	end := time.Now().Add(dbtest.Stress(t, 0))
	for round := 0; round < 3 || time.Now().Before(end); round++ {
		synced, issued := runUntilKilled(t, m, acknowledged)
		verifyReplica(t, m, acknowledged, synced, issued)
		acknowledged = verifyOwn(t, m, acknowledged)
	}
	m.loseDisk()
	m.start()
	m.kill()
	restored := int64(len(notesOf(t, m.db)))
	maps.DeleteFunc(acknowledged, func(id int64, _ string) bool { return id > restored }) // since the last sync
	synced, issued := runUntilKilled(t, m, acknowledged)
	verifyReplica(t, m, acknowledged, synced, issued)
}

// runUntilKilled lets both work for a while. synced is how many of the first notes were acknowledged before the last sync.
func runUntilKilled(t *testing.T, m *machine, acknowledged map[int64]string) (synced, issued int) {
	t.Helper()
	m.start()
	l := startLoad(m.base, acknowledged)
	begin := l.count()
	require.Eventually(t, func() bool { return l.count() > begin+300 }, time.Minute, time.Millisecond)
	l.mu.Lock()
	for acknowledged[int64(synced+1)] != "" {
		synced++
	}
	l.mu.Unlock()
	words, err := m.sync()
	require.NoError(t, err, words)
	more := l.count() + rand.N(300)
	require.Eventually(t, func() bool { return l.count() > more }, time.Minute, time.Millisecond)
	m.kill()
	l.wait(t)
	return synced, l.issued
}

func verifyReplica(t *testing.T, m *machine, acknowledged map[int64]string, synced, issued int) {
	t.Helper()
	path := m.restore()
	require.NoError(t, backup.Verify(t.Context(), path))
	notes := notesOf(t, path)
	assert.GreaterOrEqual(t, len(notes), synced)
	assert.LessOrEqual(t, len(notes), issued)
	for i, n := range notes {
		require.Equal(t, int64(i+1), n.ID, "a gap")
		if text, known := acknowledged[n.ID]; known {
			require.Equal(t, text, n.Text)
		}
	}
	t.Logf("acknowledged %d, synced %d, in the replica %d", len(acknowledged), synced, len(notes))
}

// verifyOwn looks into the file that the killed service has left, and returns what is in it: all that was acknowledged, and
// perhaps what had been committed and not yet been answered.
func verifyOwn(t *testing.T, m *machine, acknowledged map[int64]string) map[int64]string {
	t.Helper()
	found := map[int64]string{}
	for _, n := range notesOf(t, m.db) {
		found[n.ID] = n.Text
	}
	for id, text := range acknowledged {
		require.Equal(t, text, found[id], "note %d", id)
	}
	return found
}

// notesOf opens the database as the service does, so that the log is left to Litestream.
func notesOf(t *testing.T, path string) []note {
	t.Helper()
	db, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{Mode: sqlitex.ReadWrite, Checkpoints: sqlitex.CheckpointsExternal})
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	require.NoError(t, db.Check(t.Context()))
	notes, err := sqlitex.All[note](t.Context(), db, `SELECT id, text, at FROM notes ORDER BY id`)
	require.NoError(t, err)
	return notes
}

// serveS3 runs an S3 server in memory until the test ends.
func serveS3(t *testing.T) (address string) {
	t.Helper()
	program := gofakes3(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = l.Addr().String()
	require.NoError(t, l.Close())
	cmd := exec.Command(program, "-backend", "memory", "-host", address, "-initialbucket", "notes")
	out, err := os.Create(filepath.Join(t.TempDir(), "s3.log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = out.Close()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return address
}
