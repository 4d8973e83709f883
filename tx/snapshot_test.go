package tx_test

import (
	"bufio"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const counter = `CREATE TABLE c (n INTEGER); INSERT INTO c VALUES (0); CREATE TABLE copy (n INTEGER); INSERT INTO copy VALUES (0)`

// All reads of one Read see one state, while others commit: the two tables always change together.
func TestAReadSeesOneStateWhileOthersCommit(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db, other := dbtest.OpenAt(t, path, nil, counter), dbtest.OpenAt(t, path, nil, "")
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for _, h := range []*sqlitex.DB{db, other} {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				assert.NoError(t, h.Write(bg, func(w *tx.Writer) error {
					exec(t, w, `UPDATE c SET n = n + 1`)
					exec(t, w, `UPDATE copy SET n = n + 1`)
					return nil
				}))
			}
		})
	}
	var readers sync.WaitGroup
	for _, h := range []*sqlitex.DB{db, db, other} {
		readers.Go(func() {
			last := int64(-1)
			for range 300 {
				var first int64
				assert.NoError(t, h.Read(bg, func(r *tx.Reader) (err error) {
					if first, err = tx.One[int64](r, `SELECT n FROM c`); err != nil {
						return err
					}
					for range 3 {
						for _, name := range []string{"copy", "c"} {
							n, err := tx.One[int64](r, `SELECT n FROM `+name)
							assert.NoError(t, err)
							assert.Equal(t, first, n, "two states in one Read")
						}
					}
					return nil
				}))
				assert.GreaterOrEqual(t, first, last, "a later Read sees no earlier state")
				last = first
			}
		})
	}
	readers.Wait()
	close(stop)
	writers.Wait()
}

// A Read that begins after a Write has returned sees it, thousands of times, whoever wrote.
func TestAReadSeesAllEarlierCommits(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db, other := dbtest.OpenAt(t, path, nil, counter), dbtest.OpenAt(t, path, nil, "")
	sees := func(h *sqlitex.DB, want int64) {
		n, err := sqlitex.One[int64](bg, h, `SELECT n FROM c`)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.NoError(t, h.Read(bg, func(r *tx.Reader) error {
			n, err := tx.One[int64](r, `SELECT n FROM c`)
			require.Equal(t, want, n)
			return err
		}))
	}
	for i := range int64(3000) {
		h := []*sqlitex.DB{db, other}[i%2]
		if i%3 == 0 {
			write(t, h, func(w *tx.Writer) error { exec(t, w, `UPDATE c SET n = ?`, i); return nil })
		} else {
			_, err := h.Exec(bg, `UPDATE c SET n = ?`, i)
			require.NoError(t, err)
		}
		sees(db, i)
		sees(other, i)
	}
}

func TestAReadSeesAllEarlierCommitsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, nil, counter)
	child := dbtest.Command(t, "serve", path)
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	answers := bufio.NewScanner(out)
	for i := range int64(2000) {
		_, err := fmt.Fprintf(in, "UPDATE c SET n = %d\n", i)
		require.NoError(t, err)
		require.True(t, answers.Scan())
		n, err := sqlitex.One[int64](bg, db, `SELECT n FROM c`)
		require.NoError(t, err)
		require.Equal(t, i, n)
		if i%10 == 0 { // writers of both processes in turn
			_, err := db.Exec(bg, `UPDATE c SET n = -1`)
			require.NoError(t, err)
			require.Equal(t, []int64{-1}, ints(t, db, `SELECT n FROM c`))
		}
	}
	require.NoError(t, in.Close())
	require.NoError(t, child.Wait())
}

func TestAReadInsideAWriteSeesTheStateBeforeIt(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, counter)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, `UPDATE c SET n = 5`)
		assert.Equal(t, []int64{0}, ints(t, db, `SELECT n FROM c`))
		n, err := tx.Read(bg, db, func(r *tx.Reader) (int64, error) { return tx.One[int64](r, `SELECT n FROM c`) })
		assert.Zero(t, n)
		return err
	})
	assert.Equal(t, []int64{5}, ints(t, db, `SELECT n FROM c`))
}

func TestReadReturnsItsResultOrAnError(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, counter)
	n, err := tx.Read(bg, db, func(r *tx.Reader) (int64, error) { return 7, nil })
	require.NoError(t, err)
	assert.Equal(t, int64(7), n)
	n, err = tx.Read(bg, db, func(r *tx.Reader) (int64, error) { return 7, errTest })
	require.Equal(t, errTest, err)
	assert.Zero(t, n)
}
