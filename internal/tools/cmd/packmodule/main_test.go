package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPackLeavesOutNestedModules(t *testing.T) {
	t.Parallel()
	root, proxy := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                     "module example.com/Upper/m\n\ngo 1.26\n",
		"m.go":                       "package m\n",
		"internal/part/part.go":      "package part\n",
		"internal/tools/go.mod":      "module example.com/Upper/m/internal/tools\n",
		"internal/tools/cmd/main.go": "package main\n",
		".git/config":                "",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	packed, err := pack(root, "v1.2.3", proxy, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if want := "example.com/Upper/m@v1.2.3"; packed != want {
		t.Errorf("packed %q, want %q", packed, want)
	}

	dir := filepath.Join(proxy, "example.com", "!upper", "m", "@v")
	for name, want := range map[string]string{
		"list":        "v1.2.3\n",
		"v1.2.3.info": `{"Version":"v1.2.3","Time":"1970-01-01T00:00:00Z"}`,
		"v1.2.3.mod":  "module example.com/Upper/m\n\ngo 1.26\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	archive, err := zip.OpenReader(filepath.Join(dir, "v1.2.3.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var files []string
	for _, f := range archive.File {
		files = append(files, f.Name)
	}
	slices.Sort(files)
	const prefix = "example.com/Upper/m@v1.2.3/"
	if want := []string{prefix + "go.mod", prefix + "internal/part/part.go", prefix + "m.go"}; !slices.Equal(files, want) {
		t.Errorf("archive holds %q, want %q", files, want)
	}
}

func TestPackRefusesWhatIsNoVersion(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/m\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pack(root, "latest", t.TempDir(), time.Now()); err == nil {
		t.Error("packed a version that nobody can ask for")
	}
	if _, err := pack(t.TempDir(), "v1.0.0", t.TempDir(), time.Now()); err == nil {
		t.Error("packed a folder without go.mod")
	}
}
