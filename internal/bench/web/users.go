package web

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"
)

const (
	database = "users.db"
	// users are there all the time. They are read and updated; those beyond come and go.
	users = 50_000
	// stockPerSecond is how many users are there to be deleted, for each second of a run. It is more than any service can do;
	// where it is not enough, the run ends early, which is no harm to its rate.
	stockPerSecond = 100_000
	// page is how many users a list has.
	page = 20
)

// usersSchema is what the service makes of an empty file.
const usersSchema = `CREATE TABLE users (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	name       TEXT NOT NULL,
	email      TEXT NOT NULL UNIQUE COLLATE NOCASE,
	created_at TEXT NOT NULL,
	updated_at TEXT NOT NULL
) STRICT;
PRAGMA user_version = 1;`

// usersFrom inserts users with the ids first to last. Times are kept as each service keeps them, so that none has to convert what
// it reads; on the wire they are the same.
func usersFrom(s Service, first, last int64) string {
	format := `%Y-%m-%d %H:%M:%S.123000000`
	if s != Crud {
		format = `%Y-%m-%dT%H:%M:%S.123Z`
	}
	return fmt.Sprintf(`WITH RECURSIVE c (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM c WHERE i < %d)
		INSERT INTO users (id, name, email, created_at, updated_at)
		SELECT i, 'User ' || i, 'user' || i || '@example.com', strftime('%s', 1767225600 + i, 'unixepoch'), strftime('%[3]s', 1767225600 + i, 'unixepoch') FROM c;`,
		first, last, format)
}

// seedUsers makes the database before the service is started.
func seedUsers(s Service, dir string) error {
	return withDatabase(filepath.Join(dir, database), sqlite.OpenCreate, func(c *sqlite.Conn) error {
		return zsqlitex.ExecuteScript(c, usersSchema+usersFrom(s, 1, users), nil)
	})
}

// withDatabase opens the database beside the service, in another process as far as SQLite is concerned, and leaves nothing in the
// write-ahead log, so that each run begins with an empty one.
func withDatabase(path string, flags sqlite.OpenFlags, fn func(c *sqlite.Conn) error) error {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|flags)
	if err != nil {
		return err
	}
	err = zsqlitex.ExecuteTransient(c, `PRAGMA busy_timeout = 10000`, nil)
	if err == nil {
		err = zsqlitex.ExecuteTransient(c, `PRAGMA journal_mode = WAL`, nil)
	}
	if err == nil {
		err = fn(c)
	}
	if err == nil {
		err = truncate(c)
	}
	return errors.Join(err, c.Close())
}

// truncate empties the write-ahead log. SQLite does not wait for a checkpoint of somebody else, which a service may make at this
// moment, so this does.
func truncate(c *sqlite.Conn) error {
	for end := time.Now().Add(answerTimeout); ; time.Sleep(5 * time.Millisecond) {
		busy, err := one(c, `PRAGMA wal_checkpoint(TRUNCATE)`)
		if err != nil || busy == 0 {
			return err
		}
		if time.Now().After(end) {
			return errors.New("the write-ahead log could not be emptied")
		}
	}
}

func one(c *sqlite.Conn, sql string) (n int64, err error) {
	err = zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		n = stmt.ColumnInt64(0)
		return nil
	}})
	return n, err
}

// userWork is the work of the clients of the service crud.
type userWork struct {
	service Service
	work    Work
	address string
	path    string // of the database
	clients int
	stock   int64 // users that there are to be deleted
	run     int64
	current []*userClient
}

func newUserWork(s Spec, address string) *userWork {
	return &userWork{service: s.Service, work: s.Work, address: address, path: filepath.Join(s.Dir, database), clients: s.Clients}
}

func (u *userWork) begin(d time.Duration) ([]client, error) {
	if u.work == WorkCreate || u.work == WorkDelete {
		script := fmt.Sprintf("DELETE FROM users WHERE id > %d;", users)
		if u.work == WorkDelete {
			u.stock = max(int64(d.Seconds()*stockPerSecond), int64(u.clients))
			script += usersFrom(u.service, users+1, users+u.stock)
		}
		if err := withDatabase(u.path, 0, func(c *sqlite.Conn) error { return zsqlitex.ExecuteScript(c, script, nil) }); err != nil {
			return nil, err
		}
	}
	u.run++
	u.current = nil
	var clients []client
	for i := range u.clients {
		c := &userClient{work: u.work, host: u.address, n: int64(i), step: int64(u.clients), run: u.run, stock: u.stock}
		u.current = append(u.current, c)
		clients = append(clients, c)
	}
	return clients, nil
}

// end compares what was acknowledged with what is in the database.
func (u *userWork) end() error {
	var acknowledged int64
	for _, c := range u.current {
		acknowledged += c.done
	}
	var want int64
	switch u.work {
	case WorkCreate:
		want = users + acknowledged
	case WorkDelete:
		want = users + u.stock - acknowledged
	default:
		want = users
	}
	return withDatabase(u.path, 0, func(c *sqlite.Conn) error {
		got, err := one(c, `SELECT count(*) FROM users`)
		if err == nil && got != want {
			err = fmt.Errorf("%d users are there, by what was acknowledged it should be %d", got, want)
		}
		return err
	})
}
