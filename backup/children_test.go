package backup_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// childHold runs statements on a connection that knows nothing of this library, and keeps what they locked until its input
// ends.
func childHold(args []string) {
	c, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite)
	fatal(err)
	for _, sql := range args[1:] {
		fatal(zsqlitex.ExecuteTransient(c, sql, nil))
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fatal(c.Close())
}

// childTry runs a statement, without waiting for any lock, and prints what came of it.
func childTry(args []string) {
	c, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite)
	fatal(err)
	c.SetBusyTimeout(0)
	fmt.Println(sqlite.ErrCode(zsqlitex.ExecuteTransient(c, args[1], nil)).ToPrimary())
	_ = c.Close()
}

// childCommit moves money between two accounts, one commit each time, until its input ends.
func childCommit(args []string) {
	db, err := sqlitex.Open(context.Background(), args[0], nil)
	fatal(err)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println("ready")
	for {
		err := db.Write(ctx, func(w *tx.Writer) error { return w.Script(transfer) })
		if ctx.Err() != nil {
			break
		}
		fatal(err)
	}
	fatal(db.Close())
}

// childStuck begins a backup and stops half-way, for ever.
func childStuck(args []string) {
	db, err := sqlitex.Open(context.Background(), args[0], nil)
	fatal(err)
	_, err = backup.To(context.Background(), db, args[1], &backup.Options{StepPages: 1, Progress: func(p backup.Progress) error {
		if p.PagesLeft < p.PagesTotal/2 {
			fmt.Println("ready")
			select {}
		}
		return nil
	}})
	fatal(errors.Join(err, errors.New("it ended")))
}

// childFull makes a backup where no file may become large, and prints what came of it.
func childFull(args []string) {
	db, err := sqlitex.Open(context.Background(), args[0], nil)
	fatal(err)
	unlimited, err := limitFiles(64 << 10)
	fatal(err)
	_, err = ways[args[2]](context.Background(), db, args[1], &backup.Options{Overwrite: true})
	fmt.Println(errors.Is(err, tx.ErrFull) || errors.Is(err, tx.ErrIO), err)
	unlimited()
	fatal(db.Close())
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// start runs a child until release, which ends its input and waits for it. It has said that it is ready.
func start(t testing.TB, child string, args ...string) (release func()) {
	t.Helper()
	cmd, in := ready(t, child, args...)
	release = sync.OnceFunc(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	t.Cleanup(release)
	return release
}

func ready(t testing.TB, child string, args ...string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := dbtest.Command(t, child, args...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the other process")
	require.Equal(t, "ready\n", line)
	return cmd, in
}

// try lets another process run a statement on the file at path, without waiting, and returns the result code.
func try(t testing.TB, path, statement string) string {
	t.Helper()
	out, err := dbtest.Command(t, "try", path, statement).Output()
	require.NoError(t, err, "the other process")
	return strings.TrimSpace(string(out))
}

const busyCode = "SQLITE_BUSY"
