package servers

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All peers do the same, so that the same is measured.
func TestAllPeersDoTheSameWork(t *testing.T) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "servers-") // not below a folder that belongs to root alone, as t.TempDir is
	require.NoError(t, err)
	running := Start(dir)
	t.Cleanup(func() { assert.NoError(t, errors.Join(running.Stop(), os.RemoveAll(dir))) })
	for _, test := range []struct {
		peer Peer
		err  error
		open func(context.Context, Spec) (connector, error)
		at   func() string
	}{
		{Sanelite, nil, func(ctx context.Context, s Spec) (connector, error) { c, _, err := openSanelite(ctx, s); return c, err }, func() string { return running.dir + "/own.db" }},
		{Postgres, running.postgresErr, func(ctx context.Context, s Spec) (connector, error) { c, _, err := openPostgres(ctx, s); return c, err }, func() string { return running.postgres.postgresURL(false) }},
		{MariaDB, running.mariadbErr, func(ctx context.Context, s Spec) (connector, error) { c, _, err := openMariaDB(ctx, s); return c, err }, func() string { return running.mariadb.mariaDBName(false, "bench") }},
	} {
		t.Run(string(test.peer), func(t *testing.T) {
			if test.err != nil {
				t.Skip(test.err)
			}
			s := Spec{Peer: test.peer, Work: Row, Clients: 2, At: test.at()}
			c, err := test.open(ctx, s)
			require.NoError(t, err)
			r, err := newRunner(ctx, s, c) // fills the table
			require.NoError(t, err)
			defer func() { assert.NoError(t, r.Close()) }()
			got, err := r.clients[0].row(ctx, 4711)
			require.NoError(t, err)
			assert.Equal(t, record{4711, "user4711", "user4711@example.com", 4711}, got)
			everything, err := r.clients[1].all(ctx)
			require.NoError(t, err)
			assert.Len(t, everything, Rows)
			sample, err := r.Run(20 * time.Millisecond)
			require.NoError(t, err)
			assert.Positive(t, sample.Ops)

			require.NoError(t, c.empty(ctx))
			require.NoError(t, r.clients[0].insertAll(ctx, 10))
			require.NoError(t, r.clients[1].insert(ctx, 99))
			n, err := c.count(ctx)
			require.NoError(t, err)
			assert.EqualValues(t, 11, n)
			r.Work = Insert
			_, err = r.Run(20 * time.Millisecond) // counts what it has inserted
			require.NoError(t, err)
		})
	}
}
