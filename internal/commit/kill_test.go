package commit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// schema has a total that a trigger keeps: half a call would show.
const schema = `
	CREATE TABLE r (call TEXT NOT NULL, k INTEGER NOT NULL, PRIMARY KEY (call, k));
	CREATE TABLE total (n INTEGER NOT NULL);
	INSERT INTO total VALUES (0);
	CREATE TRIGGER adding AFTER INSERT ON r BEGIN UPDATE total SET n = n + 1; END`

const insert = `INSERT INTO r (call, k) VALUES (?, 0), (?, 1)`

var errOwn = errors.New("the part's own error")

// childWriters writes in all ways that share a commit until it is killed, and prints the name of each call that was
// acknowledged, with + where its rows are there, and - where they are not.
func childWriters(args []string) {
	o := &sqlitex.Options{BusyTimeout: time.Minute}
	if args[2] == "delete" {
		o.Pragmas.JournalMode = pragma.JournalDelete
	}
	db, err := sqlitex.Open(context.Background(), args[0], o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	acknowledged := make(chan string, 64)
	for i := range 32 {
		go func() {
			for n := 0; ; n++ {
				call := fmt.Sprintf("%s.%d.%d", args[1], i, n)
				sign := "+"
				if write(db, i+n, call) != nil {
					sign = "-"
				}
				acknowledged <- sign + call + "\n"
			}
		}()
	}
	for line := range acknowledged { // one write to the pipe each: killed, the process has printed whole lines
		_, _ = os.Stdout.WriteString(line)
	}
}

func write(db *sqlitex.DB, way int, call string) (err error) {
	ctx := context.Background()
	switch way % 8 {
	default:
		_, err = db.Exec(ctx, insert, call, call)
	case 1, 2:
		err = db.Batch(ctx, func(w *tx.Writer) error { _, err := w.Exec(insert, call, call); return err })
	case 3:
		err = db.Batch(ctx, func(w *tx.Writer) error { _, _ = w.Exec(insert, call, call); return errOwn })
	case 4:
		_, err = sqlitex.ExecOne[int](ctx, db, insert+` RETURNING k`, call, call) // too many rows
	case 5:
		err = db.Write(ctx, func(w *tx.Writer) error { _, err := w.Exec(insert, call, call); return err })
	}
	return err
}

// case X1: what was acknowledged before the process was killed is there, whole, and what was refused is not.
func TestAKilledProcessLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	rounds, end := 3, time.Now().Add(dbtest.Stress(t, 0))
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			o := &sqlitex.Options{}
			if journal == "delete" {
				o.Pragmas.JournalMode = pragma.JournalDelete
			}
			require.NoError(t, dbtest.OpenAt(t, path, o, schema).Close())
			told := map[string]bool{}
			round := 0
			for ; round < rounds || time.Now().Before(end); round++ {
				tell(t, told, path, fmt.Sprint(round), journal)
				compare(t, told, path, o)
			}
			t.Logf("%d rounds, %d calls", round, len(told))
		})
	}
}

// tell runs the child for a while, kills it, and adds what it printed to told.
func tell(t *testing.T, told map[string]bool, path, round, journal string) {
	t.Helper()
	cmd := dbtest.Command(t, "writers", path, round, journal)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill := 1 + rand.IntN(500)
	lines := 0
	for in := bufio.NewReader(out); ; lines++ {
		line, err := in.ReadString('\n')
		if err != nil {
			break // the pipe is closed, all of it has been read
		}
		line = strings.TrimSuffix(line, "\n")
		told[line[1:]] = line[0] == '+'
		if lines == kill {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait()
	require.Greater(t, lines, kill, "the child ended by itself")
}

// compare checks the file as it was left.
func compare(t *testing.T, told map[string]bool, path string, o *sqlitex.Options) {
	t.Helper()
	db, err := sqlitex.Open(t.Context(), path, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	type call struct {
		Call string
		N    int
	}
	rows, err := sqlitex.All[call](t.Context(), db, `SELECT call, count(*) AS n FROM r GROUP BY call`)
	require.NoError(t, err)
	there := map[string]bool{}
	for _, r := range rows {
		require.Equal(t, 2, r.N, "half of %s", r.Call)
		there[r.Call] = true
		if sure, ok := told[r.Call]; ok {
			require.True(t, sure, "%s is there, and its caller was told that it is not", r.Call)
		}
	}
	for call, sure := range told {
		require.True(t, !sure || there[call], "%s was acknowledged, and is not there", call)
	}
	n, err := sqlitex.One[int](t.Context(), db, `SELECT n FROM total`)
	require.NoError(t, err)
	assert.Equal(t, 2*len(rows), n, "of the trigger")
	require.NoError(t, db.Check(t.Context()))
}
