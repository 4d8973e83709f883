//go:build !race

package backup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// childMemory makes a copy, with all checks, and prints by how many MiB the memory of the process has grown at most.
func childMemory(args []string) {
	db, err := sqlitex.Open(context.Background(), args[0], nil)
	fatal(err)
	before := memory("VmRSS")
	_, err = ways[args[2]](context.Background(), db, args[1], nil)
	fatal(err)
	fmt.Println((memory("VmHWM") - before) >> 20)
	fatal(db.Close())
}

// memory reads a figure of /proc/self/status in bytes.
func memory(name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	fatal(err)
	_, rest, _ := strings.Cut(string(status), name+":")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	fatal(err)
	return kilobytes << 10
}

func TestMemoryDoesNotGrowWithTheDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 600 MB")
	}
	t.Parallel()
	db := dbtest.Open(t, nil, schema+`; DROP INDEX t_v; CREATE INDEX t_id ON t (owner, id)`)
	var took [2]map[string]int
	for i, rows := range []int{250000, 500000} {
		for range rows / 25000 {
			fill(t, db, 25000)
		}
		_, err := db.Checkpoint(t.Context(), sqlitex.CheckpointTruncate)
		require.NoError(t, err)
		took[i] = map[string]int{}
		for name := range ways {
			path := filepath.Join(t.TempDir(), "copy")
			out, err := dbtest.Command(t, "memory", db.Path(), path, name).Output()
			require.NoError(t, err)
			took[i][name], err = strconv.Atoi(strings.TrimSpace(string(out)))
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
		}
	}
	t.Logf("MiB for one size, and for three times that: %v", took)
	for name := range ways {
		assert.Less(t, took[1][name], took[0][name]+10, name)
	}
}

func init() { systemChildren["memory"] = childMemory }
