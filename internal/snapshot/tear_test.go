//go:build unix

package snapshot_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// Places in the WAL-index. https://www.sqlite.org/walformat.html#the_wal_index_file_format
const (
	changeOffset = 8  // iChange of the first copy of the header
	copyOffset   = 48 // from there to the second copy
	writeLock    = 120
	recoverLock  = 122
)

// childTear leaves the header of a WAL-index as a writer does that is killed while it writes it: the two copies differ. With
// "second", only the second one is not what it was; the first is whole, and out of date. With "hold", the locks that recovery needs are held until the input ends.
//
// It is a process of its own since closing any descriptor of the file drops all locks that the process has on it.
func childTear(args []string) {
	f, err := os.OpenFile(args[0]+"-shm", os.O_RDWR, 0)
	fatal(err)
	if args[1] == "hold" {
		for _, lock := range []int64{writeLock, recoverLock} {
			fatal(syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: lock, Len: 1}))
		}
	}
	offset := int64(changeOffset)
	if args[1] == "second" {
		offset += copyOffset
	}
	var word [4]byte
	_, err = f.ReadAt(word[:], offset)
	fatal(err)
	binary.NativeEndian.PutUint32(word[:], binary.NativeEndian.Uint32(word[:])+1)
	_, err = f.WriteAt(word[:], offset)
	fatal(err)
	fmt.Println("torn " + strconv.Itoa(os.Getpid()))
	if args[1] == "hold" {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

// tear starts another process that tears the header. If how is "hold", it keeps the locks that recovery needs until release
// is called.
func tear(t testing.TB, path, how string) (release func()) {
	t.Helper()
	cmd := dbtest.Command(t, "tear", path, how)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	release = sync.OnceFunc(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	t.Cleanup(release)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the other process")
	if how != "hold" {
		release()
	}
	return release
}
