package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browser returns the command of a Chromium that needs no screen: the one that the environment variable CHROMIUM names, or one of
// those that are installed.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed: apt-get install chromium, or set CHROMIUM to the program")
	return ""
}

// A real browser makes of the page what its author meant: the posts are there, text is text, nothing is loaded from elsewhere.
func TestTheTimelineInABrowser(t *testing.T) {
	t.Parallel()
	program := browser(t)
	server := httptest.NewServer(testAPI(t))
	defer server.Close()
	for _, step := range [][3]string{
		{"POST", "/users", `{"handle": "ann", "name": "Ann"}`},
		{"POST", "/users", `{"handle": "bob", "name": "Bob"}`},
		{"PUT", "/users/bob/follows/ann", ""},
		{"POST", "/users/ann/posts", `{"body": "the first"}`},
		{"POST", "/users/ann/posts", `{"body": "<img src=x onerror=\"document.title='broken into'\"> & more"}`},
		{"PUT", "/users/bob/likes/1", ""},
	} {
		r, err := http.NewRequest(step[0], server.URL+step[1], strings.NewReader(step[2]))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Less(t, res.StatusCode, 300)
		require.NoError(t, res.Body.Close())
	}
	dir := t.TempDir()
	shot := filepath.Join(dir, "page.png")
	open := func(args ...string) string {
		cmd := exec.Command(program, append([]string{
			"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir=" + filepath.Join(dir, "profile"),
			"--virtual-time-budget=2000",
		}, args...)...)
		end := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
		defer end.Stop()
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	dom := open("--dump-dom", server.URL+"/at/bob")
	assert.Contains(t, dom, "<title>@bob · Chirp</title>", "no script has run")
	assert.Equal(t, 2, strings.Count(dom, `<article class="post"`))
	assert.Less(t, strings.Index(dom, `id="post-2"`), strings.Index(dom, `id="post-1"`), "newest first")
	assert.Contains(t, dom, `&lt;img src=x`)
	assert.NotContains(t, dom, "<img")
	assert.Contains(t, dom, `<span class="likes">1</span>`)

	open("--screenshot="+shot, "--window-size=800,600", server.URL+"/at/bob")
	info, err := os.Stat(shot)
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(5_000), "an empty page is smaller")
}
