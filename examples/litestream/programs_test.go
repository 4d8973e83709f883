package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// litestreamVersion is the release that the tests run beside the service. Another one is taken as it is found.
const litestreamVersion = "v0.5.18"

var (
	findLitestream = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("LITESTREAM"); path != "" {
			return exec.LookPath(path)
		}
		if path, err := exec.LookPath("litestream"); err == nil {
			return path, nil
		}
		return install("litestream", litestreamVersion, ".", "github.com/benbjohnson/litestream/cmd/litestream@"+litestreamVersion)
	})
	// The S3 server is a module of its own, so that what it needs is not a dependency of the library.
	findS3Server = sync.OnceValues(func() (string, error) {
		return install("s3server", "", "../../internal/litestream", "./s3server")
	})
)

// need returns the path of a program, or skips the test where it is not there and cannot be built, as without a network.
func need(t *testing.T, find func() (string, error)) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tests talk to Litestream through a unix socket")
	}
	path, err := find()
	if err != nil {
		t.Skip(err)
	}
	return path
}

// install builds a program into the user's cache folder. With a version it is built once: a minute or two for Litestream.
// Several processes may do so at once, since the finished program gets its name by a rename.
func install(name, version, dir, pkg string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "sanelite-test", name+version)
	program := filepath.Join(folder, name)
	if _, err := os.Stat(program); err == nil && version != "" {
		return program, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(folder, "building")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	build := exec.Command("go", "install", pkg)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOBIN="+unfinished, "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w: %s", name, err, out)
	}
	err = os.Rename(filepath.Join(unfinished, name), program)
	if errors.Is(err, os.ErrExist) {
		err = nil
	}
	return program, err
}
