package commit_test

import (
	"testing"

	"github.com/sanelite/sanelite/internal/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"writers": childWriters})
}
