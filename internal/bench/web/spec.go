// Package web measures services over HTTP: the programs of the folder examples as users would build them, and the same services on
// other runtimes. A service is a process of its own; so is the generator of its load, which is the side as the harness knows it.
package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// Spec says what a side does. It reaches the side's process as JSON.
type Spec struct {
	Service Service `json:"service"`
	Work    Work    `json:"work"`
	Clients int     `json:"clients"`        // each with a connection of its own, and one request at a time
	Apps    int     `json:"apps,omitempty"` // databases of the service tenants
	Dir     string  `json:"dir"`            // the side's own, for what it stores

	// The processor of the service and that of the clients; all where they are empty.
	ServiceOn string `json:"service_on,omitempty"`
	ClientsOn string `json:"clients_on,omitempty"`

	Program []string `json:"program,omitempty"` // found out by command

	interrupts *harness.Interrupts // of the workload
}

// Work is what clients ask for.
type Work string

// The kinds of work. The first are those of the service crud, the last those of tenants.
const (
	WorkRead   Work = "read"   // one user of all
	WorkList   Work = "list"   // 20 users, anywhere in the list
	WorkCreate Work = "create" // one more user
	WorkUpdate Work = "update" // another name for one of all
	WorkDelete Work = "delete" // one of a stock that is filled before each run
	WorkHealth Work = "health"

	WorkItems Work = "items" // one more item
	WorkMix   Work = "mix"   // an item and the same one read, in turn
)

// ServeCommand is the first argument of a process that is a side; the second is the Spec.
const ServeCommand = "serve-web"

// Side makes a side of a workload.
func (s Spec) Side(name string) harness.Side {
	return s.interrupts.Side(harness.Side{Name: name, Start: harness.Command(s.command), Want: s.want()})
}

// want are the settings that a service of users must have; those of tenants are its own affair.
func (s Spec) want() map[string]string {
	if s.Service == Tenants {
		return nil
	}
	return map[string]string{"journal_mode": "wal", "synchronous": "1", "busy_timeout": "5000", "foreign_keys": "1", "temp_store": "2"}
}

// command runs the side in a process of its own.
func (s Spec) command() (*exec.Cmd, error) {
	var err error
	if s.Program, err = s.Service.program(); err != nil {
		return nil, err
	}
	if s.Program, err = on(s.ServiceOn, s.Program); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	line, err := on(s.ClientsOn, []string{self, ServeCommand, string(text)})
	if err != nil {
		return nil, err
	}
	return exec.Command(line[0], line[1:]...), nil
}

// on makes of a command line one that runs on some processors only.
func on(processors string, line []string) ([]string, error) {
	if processors == "" {
		return line, nil
	}
	if runtime.NumCPU() < 2 {
		return nil, errors.New("there is one processor only")
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return nil, errors.New("taskset is not installed")
	}
	return append([]string{taskset, "-c", processors}, line...), nil
}

// dir is the folder of a side; sides are numbered, since their names are for people.
func dir(root string, side int) string { return filepath.Join(root, fmt.Sprintf("side%d", side)) }

// Sides gives each spec a folder of its own below root. The function that it returns is for harness.Workload: after an interrupt
// it does not return, but removes root and ends this process.
func Sides(root string, specs ...Spec) ([]Spec, func() error) {
	interrupts := harness.WatchInterrupts()
	for i := range specs {
		specs[i].Dir, specs[i].interrupts = dir(root, i), interrupts
	}
	return specs, func() error {
		interrupts.End(root)
		return nil
	}
}
