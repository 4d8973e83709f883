package dbtest

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Stress is how long a test runs that only time can make thorough: short, or as long as the environment variable
// SANELITE_STRESS says ("10m").
func Stress(t testing.TB, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("SANELITE_STRESS")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "SANELITE_STRESS")
	return d
}
