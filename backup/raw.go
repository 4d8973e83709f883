package backup

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/wait"
)

// run runs one statement on a connection that was lent.
func run(c *sqlite.Conn, sql string, args ...any) error {
	return explain(zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{Args: args}), "backup")
}

// ask returns the first column of the only row.
func ask[T int64 | string](c *sqlite.Conn, sql string) (answer T, err error) {
	err = zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		switch p := any(&answer).(type) {
		case *int64:
			*p = s.ColumnInt64(0)
		case *string:
			*p = s.ColumnText(0)
		}
		return nil
	}})
	return answer, explain(err, "backup")
}

// defaultWait bounds the wait for a lock where the connection does not say how long it waits.
const defaultWait = 5 * time.Second

// waitForLock calls try until it meets no lock of others any more, bounded by ctx and the busy timeout of c. SQLite's own wait, which
// no context reaches, is off meanwhile.
func waitForLock(ctx context.Context, c *sqlite.Conn, what string, try func() error) error {
	timeout, err := ask[int64](c, "PRAGMA busy_timeout")
	if err != nil {
		return err
	}
	limit := time.Duration(timeout) * time.Millisecond
	c.SetBusyTimeout(0)
	defer c.SetBusyTimeout(limit)
	if limit == 0 {
		limit = defaultWait
	}
	return wait.Lock(ctx, limit, what, try)
}

// beginSnapshot opens a read transaction and fixes its snapshot by a first read. While it is open, no commit of anybody makes
// a copy begin anew. https://www.sqlite.org/c3ref/backup_finish.html#sqlite3backupstep
func beginSnapshot(ctx context.Context, c *sqlite.Conn) (end func(), err error) {
	if err := run(c, "BEGIN"); err != nil {
		return nil, err
	}
	end = func() {
		if !c.AutocommitEnabled() {
			_ = run(c, "ROLLBACK") // nothing was written, so nothing can be lost
		}
	}
	err = waitForLock(ctx, c, "another connection's lock, to begin a backup", func() error {
		return run(c, "SELECT count(*) FROM sqlite_schema")
	})
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// busy reports that err is a lock which somebody else holds.
func busy(err error) bool { return sqlerr.IsBusy(err) }
