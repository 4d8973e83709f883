//go:build unix

package snapshot_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/sanelite/sanelite/internal/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{
		"tear":  childTear,
		"crowd": childCrowd,
	})
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}
