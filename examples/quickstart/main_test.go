package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

func TestRunSaysWhatItDid(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out, dbtest.Path(t)))
	for _, line := range []string{"wrote        note 1 into ", "rolled back  deleted 1 notes", `still there: "hello"`, ", 0 errors"} {
		assert.Contains(t, out.String(), line)
	}
}

func TestRunGoesOnWithADatabaseThatExists(t *testing.T) {
	path := dbtest.Path(t)
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out, path))
	out.Reset()
	require.NoError(t, run(context.Background(), &out, path))
	assert.Contains(t, out.String(), "wrote        note 2002 into ")
}

func TestRunReturnsTheError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, run(ctx, &bytes.Buffer{}, ""), context.Canceled)
	assert.Error(t, run(context.Background(), &bytes.Buffer{}, t.TempDir()), "a folder is no database")
}
