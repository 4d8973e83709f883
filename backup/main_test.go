package backup_test

import (
	"maps"
	"testing"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// TestMain also lets this binary be a process of its own: the cases about several processes start it again.
func TestMain(m *testing.M) {
	children := map[string]dbtest.Child{
		"hold":   childHold,
		"try":    childTry,
		"commit": childCommit,
		"stuck":  childStuck,
		"full":   childFull,
	}
	maps.Copy(children, systemChildren)
	dbtest.Main(m, children)
}

// systemChildren are those that exist on some systems only.
var systemChildren = map[string]dbtest.Child{}
