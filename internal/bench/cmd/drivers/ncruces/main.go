// Ncruces is the process of the side ncruces. It is a program of its own since that package and mattn's both register the driver
// "sqlite3", which database/sql answers with a panic; package peers builds it with another name, in the way that the package
// documents:
//
//	go build -ldflags "-X github.com/ncruces/go-sqlite3/driver.driverName=ncruces"
package main

import (
	"fmt"
	"os"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/sanelite/sanelite/internal/bench/peers"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != peers.ServeCommand {
		fmt.Fprintln(os.Stderr, "ncruces: started by the other commands, not by hand")
		os.Exit(2)
	}
	if err := peers.Serve(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
