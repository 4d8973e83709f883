package sanelite_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/pagecache"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

// What people copy must compile: the Go in README files, in the guides of docs, and in the manuals, the doc.go files. Programs are checked as they
// are. Statements are checked inside this function, whose parameters they may use.
const preamble = `package snippet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

type (
	User struct {
		ID          int64
		Name, Email string
	}
	Post struct {
		ID, UserID int64
		Body       string
	}
)

func snippet(
	ctx context.Context, db *sqlitex.DB, r *tx.Reader, w *tx.Writer, conn *sqlite.Conn, err error,
	id, userID int64, name, email, body string, user User, ids []int64,
	cache interface{ Forget(int64) }, report func(*tx.Reader) error, transfer func(*tx.Writer) error,
	server *http.Server, rw, response http.ResponseWriter, expensive func(string) string,
) error {
	{
%s
	}
	return nil
}
`

var (
	goBlock   = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	localLink = regexp.MustCompile(`\]\(([^)#:]+)\)`)
)

// guides are the pages that people read on the web.
func guides(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "docs/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		files = append(files, found...)
	}
	return files
}

func TestGoInReadmesAndGuidesCompiles(t *testing.T) {
	packages := exportData(t)
	for _, file := range guides(t) {
		for i, block := range goBlock.FindAllStringSubmatch(read(t, file), -1) {
			t.Run(fmt.Sprintf("%s %d", file, i+1), func(t *testing.T) {
				formatted, err := format.Source([]byte(block[1]))
				require.NoError(t, err)
				assert.Equal(t, string(formatted), block[1], "gofmt")
				check(t, packages, block[1])
			})
		}
	}
}

func TestGoInTheManualsCompiles(t *testing.T) {
	files, err := filepath.Glob("*/doc.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	packages := exportData(t)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		for i, block := range new(comment.Parser).Parse(parsed.Doc.Text()).Content {
			code, ok := block.(*comment.Code)
			if !ok || strings.HasPrefix(code.Text, "sqlite: ") { // an error message
				continue
			}
			t.Run(fmt.Sprintf("%s %d", file, i+1), func(t *testing.T) { check(t, packages, code.Text) })
		}
	}
}

func TestLinksInReadmesAndGuidesLeadSomewhere(t *testing.T) {
	for _, file := range guides(t) {
		for _, link := range localLink.FindAllStringSubmatch(goBlock.ReplaceAllString(read(t, file), ""), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), link[1]))
			assert.NoError(t, err, file)
		}
	}
}

func TestTheGuideToDefaultsNamesEverySetting(t *testing.T) {
	guide := read(t, "docs/defaults.md")
	for _, config := range []reflect.Type{reflect.TypeFor[sqlitex.Options](), reflect.TypeFor[pragma.Config]()} {
		for field := range config.Fields() {
			assert.Contains(t, guide, "\n| `"+field.Name+"` |", config)
		}
	}
	assert.Contains(t, guide, "`"+pagecache.Variable+"`")
}

// check type-checks a program, or statements. That names are not used, and declared once more, is what makes a snippet short;
// all else is an error.
func check(t *testing.T, packages types.Importer, code string) {
	t.Helper()
	source := code
	if !strings.HasPrefix(code, "package ") {
		source = fmt.Sprintf(preamble, code)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "snippet.go", source, parser.SkipObjectResolution)
	require.NoError(t, err, code)
	config := types.Config{Importer: packages, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && !e.Soft && !strings.HasPrefix(e.Msg, "no new variables on left side") {
			assert.Fail(t, e.Error(), "%s", code)
		}
	}}
	_, _ = config.Check("snippet", set, []*ast.File{file}, nil) // errors went to Error
}

// exportData returns the packages that snippets may import, as the compiler sees them.
func exportData(t *testing.T) types.Importer {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "", preamble[:strings.Index(preamble, "type (")], parser.ImportsOnly)
	require.NoError(t, err)
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "log"}
	for _, spec := range parsed.Imports {
		args = append(args, strings.Trim(spec.Path.Value, `"`))
	}
	var stderr bytes.Buffer
	list := exec.Command("go", args...)
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, stderr.String())
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("snippets may not import %q", path)
		}
		return os.Open(files[path])
	})
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}
