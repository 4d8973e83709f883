package goroutine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sanelite/sanelite/internal/goroutine"
)

func TestLivingGoroutinesHaveDifferentIDs(t *testing.T) {
	t.Parallel()
	mine := goroutine.ID()
	if mine == 0 {
		return // an architecture without the instruction: unknown is an allowed answer
	}
	ids, hold := make(chan uintptr), make(chan struct{})
	const n = 50
	for range n {
		go func() {
			ids <- goroutine.ID()
			<-hold
		}()
	}
	seen := map[uintptr]bool{mine: true}
	for range n {
		id := <-ids
		assert.False(t, seen[id], "two living goroutines share an ID")
		seen[id] = true
	}
	close(hold)
	assert.Equal(t, mine, goroutine.ID(), "the ID of a goroutine stays the same")
}
