package peers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
	_ "modernc.org/sqlite"          // the driver "sqlite"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

func openDatabaseSQL(s Spec) (*sql.DB, error) {
	query := url.Values{"_txlock": {"immediate"}}
	if s.Peer == Mattn {
		query.Set("_busy_timeout", "5000")
		query.Set("_journal_mode", "WAL")
		query.Set("_synchronous", s.synchronous())
		query.Set("_cache_size", fmt.Sprint(-cacheKiB))
	} else {
		for _, p := range s.pragmas() {
			query.Add("_pragma", p[0]+"("+p[1]+")")
		}
	}
	// The package ncruces has this name in the program cmd/drivers/ncruces.
	driver := map[Peer]string{Mattn: "sqlite3", Modernc: "sqlite", Ncruces: string(Ncruces)}[s.Peer]
	db, err := sql.Open(driver, "file:"+(&url.URL{Path: s.Path}).EscapedPath()+"?"+query.Encode())
	if err == nil {
		connections := s.Goroutines
		if s.Work.writes() {
			connections = 1 // SQLite has one writer
		}
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

func startDatabaseSQL(s Spec) (_ *loop, info harness.Info, err error) {
	db, err := openDatabaseSQL(s)
	if err != nil {
		return nil, info, err
	}
	l := &loop{work: s.Work, closings: []func() error{db.Close}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if info, err = databaseSQLInfo(db); err != nil {
		return nil, info, err
	}
	stmt, err := db.Prepare(databaseSQLStatement(s.Work))
	if err != nil {
		return nil, info, err
	}
	l.closings = []func() error{stmt.Close, db.Close}
	if s.Work.writes() {
		before := []string{empty, truncate}
		if s.Work == WorkUpdate {
			before = []string{truncate}
		}
		l.prepare = func() error {
			for _, query := range before {
				if _, err := db.Exec(query); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for range s.Goroutines {
		l.calls = append(l.calls, databaseSQLCall(db, stmt, s.Work))
	}
	return l, info, nil
}

// databaseSQLInfo opens all connections that there may be, and reads the settings of each.
func databaseSQLInfo(db *sql.DB) (info harness.Info, err error) {
	ctx := context.Background()
	for range db.Stats().MaxOpenConnections {
		c, err := db.Conn(ctx)
		if err != nil {
			return info, err
		}
		defer c.Close()
		if err := c.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&info.SQLite); err != nil {
			return info, err
		}
		before := info.Settings
		info.Settings = map[string]string{}
		for _, name := range settings {
			value := "0" // where SQLite was built without memory-mapping, mmap_size has no row
			if err := c.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil && (name != "mmap_size" || !errors.Is(err, sql.ErrNoRows)) {
				return info, fmt.Errorf("PRAGMA %s: %w", name, err)
			}
			info.Settings[name] = value
			if before != nil && before[name] != value {
				return info, fmt.Errorf("PRAGMA %s is %q on one connection and %q on another", name, before[name], value)
			}
		}
	}
	return info, nil
}

func databaseSQLStatement(work Work) string {
	if r := readers[work]; r != nil {
		return r.text()
	}
	return map[Work]string{WorkRow: selectRow, WorkInsert: insert, WorkUpdate: update, WorkBulk: insert}[work]
}

func databaseSQLCall(db *sql.DB, stmt *sql.Stmt, work Work) func(int64) error {
	if r := readers[work]; r != nil {
		return r.databaseSQL(stmt)
	}
	switch work {
	case WorkRow:
		return func(i int64) error {
			id := key(i)
			var u user
			err := stmt.QueryRow(id).Scan(&u.ID, &u.Name, &u.Email, &u.Created)
			if err == nil && u.ID != id {
				err = errWrongRow
			}
			return err
		}
	case WorkInsert:
		return func(i int64) error {
			_, err := stmt.Exec("ann", "ann@example.com", i)
			return err
		}
	case WorkUpdate:
		return func(i int64) error {
			_, err := stmt.Exec(key(i))
			return err
		}
	default:
		return func(int64) error { return databaseSQLBulk(db, stmt) }
	}
}

func databaseSQLBulk(db *sql.DB, stmt *sql.Stmt) error {
	t, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // does nothing after Commit
	inside := t.Stmt(stmt)
	for i := range int64(BulkRows) {
		if _, err := inside.Exec("ann", "ann@example.com", i); err != nil {
			return err
		}
	}
	return t.Commit()
}
