package backup_test

import (
	"testing"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// TestMain also lets this binary be a process of its own: the cases about several processes start it again.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{
		"hold":   childHold,
		"try":    childTry,
		"commit": childCommit,
		"stuck":  childStuck,
		"full":   childFull,
	})
}
