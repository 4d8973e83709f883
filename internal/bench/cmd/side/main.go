// Side is the process of a side that is built with a profile, as README.md of the library advises for services: the go command
// finds default.pgo in this folder. It was made by
//
//	go test -trimpath -run '^$' -bench 'PointRead|SelectAll|BenchmarkInsert' -cpuprofile internal/bench/cmd/side/default.pgo ./sqlitex
package main

import (
	"fmt"
	"os"

	"github.com/sanelite/sanelite/internal/bench/peers"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != peers.ServeCommand {
		fmt.Fprintln(os.Stderr, "side: started by the other commands, not by hand")
		os.Exit(2)
	}
	if err := peers.Serve(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
