package web

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
)

// Service is a program that answers requests.
type Service string

// The services. crud-app.mjs is the same service as examples/crud.
const (
	Crud     Service = "crud"
	CrudBun  Service = "crud on Bun"
	CrudNode Service = "crud on Node.js"
	Tenants  Service = "tenants"
)

// program is the command line of a service, but for what differs from run to run.
func (s Service) program() ([]string, error) {
	switch s {
	case Crud:
		path, err := buildCrud()
		return []string{path}, err
	case Tenants:
		path, err := buildTenants()
		return []string{path}, err
	case CrudBun, CrudNode:
		return javascript(s)
	default:
		return nil, fmt.Errorf("no such service: %q", s)
	}
}

// arguments complete the command line. dir holds the database, or the databases.
func (s Service) arguments(address, dir string, apps int) []string {
	switch s {
	case Crud:
		return []string{"-addr", address, "-db", filepath.Join(dir, database), "-log-level", "WARN"}
	case Tenants:
		return []string{"-addr", address, "-dir", filepath.Join(dir, "apps"), "-max-open", strconv.Itoa(apps + 1), "-idle", "10m", "-log-level", "WARN"}
	default:
		return []string{filepath.Join(dir, database), portOf(address)}
	}
}

// announces tells whether the service prints its settings when it begins.
func (s Service) announces() bool { return s == CrudBun || s == CrudNode }

// folder is the folder of the benchmark module.
func folder() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(filepath.Dir(file))
	if _, err := os.Stat(filepath.Join(dir, "js", "crud-app.mjs")); err != nil {
		return "", fmt.Errorf("the sources of the benchmark are not where it was compiled: %w", err)
	}
	return dir, nil
}

var (
	buildCrud    = sync.OnceValues(func() (string, error) { return buildExample("crud") })
	buildTenants = sync.OnceValues(func() (string, error) { return buildExample("tenants") })
)

// buildExample compiles a program of the folder examples as anybody would. With a profile beside its sources, the first time
// takes a minute or two.
func buildExample(name string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	root := filepath.Join(dir, "..", "..")
	if _, err := os.Stat(filepath.Join(root, "examples", name, "main.go")); err != nil {
		return "", fmt.Errorf("there is no example %s", name)
	}
	program := filepath.Join(dir, ".build", name)
	unfinished := fmt.Sprintf("%s.%d", program, os.Getpid()) // another command may be running it
	build := exec.Command("go", "build", "-o", unfinished, "./examples/"+name)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(out))
	}
	return program, os.Rename(unfinished, program)
}

func javascript(s Service) ([]string, error) {
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	js := filepath.Join(dir, "js")
	needs := []string{"hono"}
	if s == CrudNode {
		needs = append(needs, "better-sqlite3", filepath.Join("@hono", "node-server"))
	}
	for _, name := range needs {
		if _, err := os.Stat(filepath.Join(js, "node_modules", name)); err != nil {
			return nil, fmt.Errorf("%s is not installed, see setup.sh", name)
		}
	}
	if s == CrudNode {
		node, err := exec.LookPath("node")
		if err != nil {
			return nil, errors.New("no Node.js is installed")
		}
		return []string{node, filepath.Join(js, "crud-node.mjs")}, nil
	}
	bun := filepath.Join(js, "node_modules", ".bin", "bun")
	if _, err := os.Stat(bun); err != nil {
		if bun, err = exec.LookPath("bun"); err != nil {
			return nil, errors.New("bun is not installed, see setup.sh")
		}
	}
	return []string{bun, filepath.Join(js, "crud-bun.mjs")}, nil
}
