package peers

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// folder is the folder of the benchmark module, where the sources of the sides in other languages are.
func folder() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(filepath.Dir(file))
	if _, err := os.Stat(filepath.Join(dir, "js", "side.mjs")); err != nil {
		return "", fmt.Errorf("the sources of the benchmark are not where it was compiled: %w", err)
	}
	return dir, nil
}

func javascript(peer Peer, spec string) (*exec.Cmd, error) {
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	js := filepath.Join(dir, "js")
	program := filepath.Join(js, "node_modules", ".bin", "bun")
	if peer == BetterSQLite3 {
		if _, err := os.Stat(filepath.Join(js, "node_modules", "better-sqlite3")); err != nil {
			return nil, errors.New("better-sqlite3 is not installed, see setup.sh")
		}
		if program, err = exec.LookPath("node"); err != nil {
			return nil, errors.New("no Node.js is installed")
		}
	} else if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("bun"); err != nil {
			return nil, errors.New("bun is not installed, see setup.sh")
		}
	}
	return exec.Command(program, filepath.Join(js, "side.mjs"), spec), nil
}

// baseline runs the loop in C.
func baseline(s Spec) (*exec.Cmd, error) {
	program, err := buildBaseline()
	if err != nil {
		return nil, err
	}
	return exec.Command(program, s.Path, s.synchronous(), fmt.Sprint(cacheKiB)), nil
}

// buildBaseline compiles c/baseline.c with the SQLite that package mattn/go-sqlite3 ships, which is the amalgamation of
// sqlite.org. That takes a minute, so the program is kept in .build under a name that tells what it was made of.
var buildBaseline = sync.OnceValues(func() (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return "", errors.New("gcc is not installed")
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mattn/go-sqlite3")
	list.Dir = dir
	out, err := list.Output()
	sqlite := strings.TrimSpace(string(out))
	if err != nil || sqlite == "" {
		return "", fmt.Errorf("the module github.com/mattn/go-sqlite3, which has SQLite's source, is not there: %w", err)
	}
	source := filepath.Join(dir, "c", "baseline.c")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	flags := []string{"-O2", "-w", "-I", sqlite, source, "-lpthread", "-ldl", "-lm"}
	sum := sha256.Sum256(append(text, strings.Join(flags, " ")...))
	program := filepath.Join(dir, ".build", fmt.Sprintf("baseline-%x", sum[:6]))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "compiling SQLite for the side in C, once")
	unfinished := fmt.Sprintf("%s.%d", program, os.Getpid())
	compile := exec.Command(gcc, append([]string{"-o", unfinished}, flags...)...)
	if out, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, bytes.TrimSpace(out))
	}
	return program, os.Rename(unfinished, program)
})

// The programs of sides that need another build than the command that measures. The first time each takes a minute.
var (
	buildProfiled = sync.OnceValues(func() (string, error) { return build("side", "./cmd/side") })
	buildNcruces  = sync.OnceValues(func() (string, error) {
		return build("ncruces", "-ldflags=-X github.com/ncruces/go-sqlite3/driver.driverName="+string(Ncruces), "./cmd/drivers/ncruces")
	})
)

// build compiles a command of this module. args are those of go build.
func build(name string, args ...string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, ".build", name)
	unfinished := fmt.Sprintf("%s.%d", program, os.Getpid()) // another command may be running it
	build := exec.Command("go", append([]string{"build", "-o", unfinished}, args...)...)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(out))
	}
	return program, os.Rename(unfinished, program)
}
