package peers

import (
	"errors"
	"sync"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// openZombiezen opens a connection as one does by hand.
func openZombiezen(s Spec) (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(s.Path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	for _, p := range s.pragmas() {
		if err := zsqlitex.ExecuteTransient(c, "PRAGMA "+p[0]+" = "+p[1], nil); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func zombiezenInfo(c *sqlite.Conn) (info harness.Info, err error) {
	read := func(sql string) (value string) {
		readErr := zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			value = stmt.ColumnText(0)
			return nil
		}})
		err = errors.Join(err, readErr)
		return value
	}
	info.SQLite = read("SELECT sqlite_version()")
	info.Settings = map[string]string{}
	for _, name := range settings {
		info.Settings[name] = read("PRAGMA " + name)
	}
	return info, err
}

// settings are the PRAGMAs that every side reads back.
var settings = []string{"journal_mode", "synchronous", "cache_size", "mmap_size"}

// startZombiezen has a connection for each reading goroutine; writing goroutines share one behind a mutex, since SQLite has one
// writer.
func startZombiezen(s Spec) (_ *loop, info harness.Info, err error) {
	l := &loop{work: s.Work}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if s.Beside > 0 {
		db, err := openSanelite(s)
		if err != nil {
			return nil, info, err
		}
		l.closings = append(l.closings, db.Close)
		l.writer = saneliteWriter(db, s.Beside)
		defer func() { info.Settings[pageCache] = db.Stats().PageCache }()
	}
	open := func() (*sqlite.Conn, error) {
		c, err := openZombiezen(s)
		if err == nil {
			l.closings = append(l.closings, c.Close)
			info, err = zombiezenInfo(c)
		}
		return c, err
	}
	switch {
	case !s.Work.writes():
		for range s.Goroutines {
			c, err := open()
			if err != nil {
				return nil, info, err
			}
			l.calls = append(l.calls, zombiezenRead(c, s.Work))
		}
	default:
		c, err := open()
		if err != nil {
			return nil, info, err
		}
		l.prepare = func() error {
			var err error
			if s.Work != WorkUpdate {
				err = zsqlitex.ExecuteTransient(c, empty, nil)
			}
			return errors.Join(err, zsqlitex.ExecuteTransient(c, truncate, nil))
		}
		call := zombiezenWrite(c, s.Work)
		if s.Goroutines > 1 {
			var mu sync.Mutex
			alone := call
			call = func(i int64) error {
				mu.Lock()
				defer mu.Unlock()
				return alone(i)
			}
		}
		for range s.Goroutines {
			l.calls = append(l.calls, call)
		}
	}
	return l, info, nil
}

func zombiezenUser(stmt *sqlite.Stmt) user {
	return user{stmt.ColumnInt64(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnInt64(3)}
}

func zombiezenRead(c *sqlite.Conn, work Work) func(int64) error {
	if r := readers[work]; r != nil {
		return r.zombiezen(c.Prep(r.text()))
	}
	stmt := c.Prep(selectRow)
	return func(i int64) error {
		id := key(i)
		stmt.BindInt64(1, id)
		if row, err := stmt.Step(); err != nil || !row {
			return errors.Join(err, errWrongRow)
		}
		u := zombiezenUser(stmt)
		if err := stmt.Reset(); err != nil || u.ID != id {
			return errors.Join(err, errWrongRow)
		}
		return nil
	}
}

func zombiezenWrite(c *sqlite.Conn, work Work) func(int64) error {
	step := func(stmt *sqlite.Stmt) error {
		_, err := stmt.Step()
		return errors.Join(err, stmt.Reset())
	}
	if work == WorkUpdate {
		stmt := c.Prep(update)
		return func(i int64) error {
			stmt.BindInt64(1, key(i))
			return step(stmt)
		}
	}
	stmt := c.Prep(insert)
	insertRow := func(i int64) error {
		stmt.BindText(1, "ann")
		stmt.BindText(2, "ann@example.com")
		stmt.BindInt64(3, i)
		return step(stmt)
	}
	if work == WorkInsert {
		return insertRow
	}
	begin, commit := c.Prep("BEGIN IMMEDIATE"), c.Prep("COMMIT")
	return func(int64) error {
		if err := step(begin); err != nil {
			return err
		}
		for i := range int64(BulkRows) {
			if err := insertRow(i); err != nil {
				return err
			}
		}
		return step(commit)
	}
}
