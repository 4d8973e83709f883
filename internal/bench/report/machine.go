package report

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Machine is where the figures come from.
type Machine struct {
	Date     string            `json:"date"`
	System   string            `json:"system"`
	CPU      string            `json:"cpu"`
	CPUs     int               `json:"cpus"`
	Memory   string            `json:"memory,omitempty"`
	Files    string            `json:"files,omitempty"` // filesystem of the databases
	Versions map[string]string `json:"versions"`
}

// ThisMachine describes the machine that the program runs on, with databases in dir.
func ThisMachine(cpu, dir string) Machine {
	m := Machine{
		Date: time.Now().UTC().Format(time.DateOnly), System: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpu, CPUs: runtime.NumCPU(),
		Versions: map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")},
	}
	if kernel := output("uname", "-sr"); kernel != "" {
		m.System = kernel + ", " + runtime.GOARCH
	}
	m.Memory = memory()
	m.Files = output("stat", "-f", "-c", "%T", dir)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			switch d.Path {
			case "zombiezen.com/go/sqlite", "modernc.org/sqlite", "github.com/mattn/go-sqlite3", "github.com/ncruces/go-sqlite3",
				"github.com/jackc/pgx/v5", "github.com/go-sql-driver/mysql":
				m.Versions[d.Path] = d.Version
			}
		}
	}
	for name, command := range map[string][]string{
		"Node.js": {"node", "--version"}, "Bun": {"internal/bench/js/node_modules/.bin/bun", "--version"}, "C compiler": {"gcc", "-dumpfullversion"},
	} {
		if version := output(command[0], command[1:]...); version != "" {
			m.Versions[name] = strings.TrimPrefix(version, "v")
		}
	}
	return m
}

// output is the first line that a command prints, or nothing where it cannot run.
func output(command string, args ...string) string {
	out, err := exec.Command(command, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func memory() string {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if size, found := strings.CutPrefix(lines.Text(), "MemTotal:"); found {
			return strings.TrimSpace(size)
		}
	}
	return ""
}
