package social

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func benchmarkNetwork(b *testing.B) *Network {
	b.Helper()
	path := filepath.Join(b.TempDir(), "seeded.db")
	require.NoError(b, Seed(b.Context(), path, Sizes{Users: 5_000, Posts: 100_000, Follows: 250_000, Likes: 200_000, Seed: 1}, nil))
	n, err := Open(b.Context(), path, nil)
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, n.Close(context.Background())) })
	return n
}

func BenchmarkTimeline(b *testing.B) {
	n := benchmarkNetwork(b)
	i := int64(0)
	for b.Loop() {
		i++
		posts, err := n.Timeline(b.Context(), 1+i*7919%5_000, 0, 20)
		if err != nil {
			b.Fatal(len(posts), err)
		}
	}
}

func BenchmarkPost(b *testing.B) {
	n := benchmarkNetwork(b)
	i := int64(0)
	for b.Loop() {
		i++
		if _, err := n.Post(b.Context(), 1+i*7919%5_000, "what is new"); err != nil {
			b.Fatal(err)
		}
	}
}
