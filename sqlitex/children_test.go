package sqlitex_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// childHold runs statements on a connection that knows nothing of this library, and keeps what they locked until its input
// ends.
func childHold(args []string) {
	c, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite)
	fatal(err)
	c.SetBusyTimeout(0)
	for _, sql := range args[1:] {
		fatal(zsqlitex.ExecuteTransient(c, sql, nil))
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fatal(c.Close())
}

// childTry runs statements, without waiting for any lock, and prints what came of the last one.
func childTry(args []string) {
	c, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite)
	fatal(err)
	c.SetBusyTimeout(0)
	for _, sql := range args[1:] {
		err = zsqlitex.ExecuteTransient(c, sql, nil)
	}
	fmt.Println(sqlite.ErrCode(err).ToPrimary())
	_ = c.Close()
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// hold starts another process that runs statements on the file at path and keeps their locks until release.
func hold(t testing.TB, path string, statements ...string) (release func()) {
	t.Helper()
	_, release = holdProcess(t, path, statements...)
	return release
}

// die starts another process that runs statements on the file at path, and kills it.
func die(t testing.TB, path string, statements ...string) {
	t.Helper()
	process, release := holdProcess(t, path, statements...)
	require.NoError(t, process.Kill())
	release()
}

func holdProcess(t testing.TB, path string, statements ...string) (process *os.Process, release func()) {
	t.Helper()
	cmd := dbtest.Command(t, "hold", append([]string{path}, statements...)...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	release = sync.OnceFunc(func() {
		assert.NoError(t, in.Close())
		if err := cmd.Wait(); err != nil {
			assert.EqualError(t, err, "signal: killed")
		}
	})
	t.Cleanup(release)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the other process")
	require.Equal(t, "ready\n", line)
	return cmd.Process, release
}

// try lets another process run statements on the file at path, without waiting, and returns the result of the last one.
func try(t testing.TB, path string, statements ...string) string {
	t.Helper()
	out, err := dbtest.Command(t, "try", append([]string{path}, statements...)...).Output()
	require.NoError(t, err, "the other process")
	return strings.TrimSpace(string(out))
}

const (
	busyCode = "SQLITE_BUSY"
	okCode   = "SQLITE_OK"
)
