// Package suite lists the workloads that are measured, and what the library promises for each.
package suite

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/peers"
	"github.com/sanelite/sanelite/internal/bench/servers"
	"github.com/sanelite/sanelite/internal/bench/timeline"
	"github.com/sanelite/sanelite/internal/bench/web"
)

// Main is the main function of a command that measures workloads. The command also is the process of each side in Go.
func Main(command string, workloads []harness.Workload) {
	if err := run(command, workloads, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Process runs a side, where args are those of the process of one.
func Process(args []string) (is bool, err error) {
	if len(args) != 2 {
		return false, nil
	}
	switch args[0] {
	case peers.ServeCommand:
		return true, peers.Serve(args[1])
	case servers.ServeCommand:
		return true, servers.Serve(args[1])
	case timeline.ServeCommand:
		return true, timeline.Serve(args[1])
	case web.ServeCommand:
		return true, web.Serve(args[1])
	}
	return false, nil
}

// Root is the folder of the repository.
func Root() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "docs")); err != nil {
		return "", fmt.Errorf("the repository is not where this program was compiled: %w", err)
	}
	return root, nil
}

func run(command string, workloads []harness.Workload, args []string) error {
	if is, err := Process(args); is {
		return err
	}
	config, err := harness.ParseFlags(command, args)
	if err != nil {
		return err
	}
	_, err = harness.Main(command, config, workloads, os.Stdout)
	return err
}

func time(with string, op harness.Op, than float64) harness.Compare {
	return harness.Compare{With: with, By: harness.Time, Op: op, Than: than}
}

func speedup(with string, op harness.Op, than float64) harness.Compare {
	return harness.Compare{With: with, By: harness.Speedup, Op: op, Than: than}
}

func gain(with string, op harness.Op, than float64) harness.Compare {
	return harness.Compare{With: with, By: harness.Gain, Op: op, Than: than}
}
