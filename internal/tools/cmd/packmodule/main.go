// Command packmodule packs a checkout as the module that users download, into a folder that serves as GOPROXY:
//
//	packmodule -root . -version v0.0.0-ci -proxy /tmp/proxy
//	GOPROXY=file:///tmp/proxy,https://proxy.golang.org go get github.com/sanelite/sanelite@v0.0.0-ci
//
// Building against it shows what a checkout hides: a package that only a nested module has, a replace directive that nobody
// else sees, a file left out of the archive.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("packmodule: ")
	root := flag.String("root", ".", "folder of the module's go.mod")
	version := flag.String("version", "", "semantic version to pack it as")
	proxy := flag.String("proxy", "", "folder of the GOPROXY tree; created if need be")
	flag.Parse()
	if *version == "" || *proxy == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	packed, err := pack(*root, *version, *proxy, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(packed)
}

// pack writes the four files of the GOPROXY protocol (https://go.dev/ref/mod#goproxy-protocol) and returns path@version.
// The archive is last: without it the version cannot be downloaded.
func pack(root, version, proxy string, made time.Time) (packed string, err error) {
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	m := module.Version{Path: modfile.ModulePath(gomod), Version: version}
	if err := module.Check(m.Path, m.Version); err != nil {
		return "", err
	}
	escapedPath, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	escapedVersion, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, made.UTC()})
	if err != nil {
		return "", err
	}

	dir := filepath.Join(proxy, filepath.FromSlash(escapedPath), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	base := filepath.Join(dir, escapedVersion)
	for name, content := range map[string][]byte{
		filepath.Join(dir, "list"): []byte(m.Version + "\n"),
		base + ".info":             info,
		base + ".mod":              gomod,
	} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return "", err
		}
	}
	archive, err := os.Create(base + ".zip")
	if err != nil {
		return "", err
	}
	if err := zip.CreateFromDir(archive, m, root); err != nil {
		archive.Close()
		return "", err
	}
	return m.String(), archive.Close()
}
