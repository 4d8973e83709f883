package peers

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
	_ "modernc.org/sqlite"          // the driver "sqlite"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

func openDatabaseSQL(s Spec) (*sql.DB, error) {
	query := url.Values{}
	driver := "sqlite"
	if s.Peer == Mattn {
		driver = "sqlite3"
		query = url.Values{
			"_busy_timeout": {"5000"},
			"_journal_mode": {"WAL"},
			"_synchronous":  {s.synchronous()},
			"_cache_size":   {fmt.Sprint(-cacheKiB)},
			"_txlock":       {"immediate"},
		}
	} else {
		query.Set("_txlock", "immediate")
		for _, p := range s.pragmas() {
			query.Add("_pragma", p[0]+"("+p[1]+")")
		}
	}
	db, err := sql.Open(driver, "file:"+(&url.URL{Path: s.Path}).EscapedPath()+"?"+query.Encode())
	if err == nil {
		db.SetMaxOpenConns(1) // one writer; the readers compared here are single
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
	if err := db.QueryRow("SELECT sqlite_version()").Scan(&info.SQLite); err != nil {
		return nil, info, err
	}
	info.Settings = map[string]string{}
	for _, name := range settings {
		var value string
		if err := db.QueryRow("PRAGMA " + name).Scan(&value); err != nil {
			return nil, info, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
		info.Settings[name] = value
	}
	query := map[Work]string{WorkRow: selectRow, WorkAll: selectAll, WorkInsert: insert, WorkUpdate: update, WorkBulk: insert}[s.Work]
	stmt, err := db.Prepare(query)
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

func databaseSQLCall(db *sql.DB, stmt *sql.Stmt, work Work) func(int64) error {
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
	case WorkAll:
		return func(int64) error { return databaseSQLAll(stmt) }
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

func databaseSQLAll(stmt *sql.Stmt) error {
	rows, err := stmt.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	var users []user
	for rows.Next() {
		var u user
		if err := rows.Scan(&u.ID, &u.Name, &u.Email, &u.Created); err != nil {
			return err
		}
		users = append(users, u)
	}
	if rows.Err() == nil && len(users) != Rows {
		return fmt.Errorf("%d rows", len(users))
	}
	return rows.Err()
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
