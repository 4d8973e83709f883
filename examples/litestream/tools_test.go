package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tool returns a program that the tests need: the one that the environment variable names, or one that is built once and kept in
// the user's cache. Where it cannot be built, which takes a network, the test is skipped.
func tool(t *testing.T, variable, module, version string) string {
	t.Helper()
	if program := os.Getenv(variable); program != "" {
		return program
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "sanelite-tests")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	name := filepath.Base(module)
	program := filepath.Join(dir, name+"-"+version)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	build := t.TempDir() // others may be building it too; the rename decides
	cmd := exec.Command("go", "install", module+"@"+version)
	cmd.Dir = build // no module
	cmd.Env = append(os.Environ(), "GOBIN="+build, "GOFLAGS=", "GOWORK=off")
	if words, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(words)), "\n")
		t.Skipf("%s cannot be built here, set %s to the program: %v: %s", name, variable, err, lines[len(lines)-1])
	}
	require.NoError(t, os.Rename(filepath.Join(build, name), program))
	return program
}

func litestream(t *testing.T) string {
	t.Helper()
	return tool(t, "LITESTREAM", "github.com/benbjohnson/litestream/cmd/litestream", "v0.5.18")
}

func gofakes3(t *testing.T) string {
	t.Helper()
	return tool(t, "GOFAKES3", "github.com/johannesboyne/gofakes3/cmd/gofakes3", "v1.2.0")
}
