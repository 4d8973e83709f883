package sqlitex_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// case O9: SQLite before 3.51.3 can lose committed writes when the log starts over.
// https://www.sqlite.org/releaselog/3_51_3.html
func TestSQLiteIsNotOneThatLosesWrites(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, "")
	version, err := sqlitex.One[string](t.Context(), db, "SELECT sqlite_version()")
	require.NoError(t, err)
	assert.True(t, atLeast(t, version, 3, 51, 3), "SQLite is %s", version)
}

func TestVersionsCompareByNumber(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"3.51.3": true, "3.51.10": true, "3.100.0": true, "4.0.0": true, "3.51.2": false, "3.6.23": false, "3.49.2": false, "2.99.99": false,
	} {
		assert.Equal(t, want, atLeast(t, version, 3, 51, 3), version)
	}
}

func atLeast(t *testing.T, version string, want ...int) bool {
	t.Helper()
	got := make([]int, 3)
	_, err := fmt.Sscanf(version, "%d.%d.%d", &got[0], &got[1], &got[2])
	require.NoError(t, err)
	for i := range want {
		if got[i] != want[i] {
			return got[i] > want[i]
		}
	}
	return true
}

// case O9: modernc's SQLite is generated for one version of modernc's libc, and its go.mod names it. Another one builds, and
// breaks in ways that only show under load.
func TestLibcIsTheOneThatSQLiteNames(t *testing.T) {
	t.Parallel()
	const sqliteModule, libcModule = "modernc.org/sqlite", "modernc.org/libc"
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is needed to find the module's go.mod")
	}
	var module struct{ Version, GoMod string }
	output(t, &module, goTool, "list", "-m", "-json", sqliteModule)
	require.NotEmpty(t, module.GoMod)
	var named struct {
		Require []struct{ Path, Version string }
	}
	output(t, &named, goTool, "mod", "edit", "-json", module.GoMod)
	want := ""
	for _, r := range named.Require {
		if r.Path == libcModule {
			want = r.Version
		}
	}
	require.NotEmpty(t, want, "%s %s names no %s", sqliteModule, module.Version, libcModule)

	var chosen struct{ Version string }
	output(t, &chosen, goTool, "list", "-m", "-json", libcModule)
	assert.Equal(t, want, chosen.Version, "go.mod chooses another %s than %s %s names", libcModule, sqliteModule, module.Version)

	built, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	for _, dep := range built.Deps {
		if dep.Path == libcModule {
			assert.Equal(t, want, dep.Version, "this binary was built with another one")
			assert.Nil(t, dep.Replace)
		}
	}
}

func output(t *testing.T, v any, command string, args ...string) {
	t.Helper()
	out, err := exec.Command(command, args...).Output()
	require.NoError(t, err, "%s %v", command, args)
	require.NoError(t, json.Unmarshal(out, v))
}
