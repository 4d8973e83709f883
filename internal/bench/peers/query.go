package peers

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/sqlitex"
)

// query is a SELECT whose rows go into a slice of T. What it does in each package's way follows from this.
type query[T any] struct {
	sql     string
	rows    int                           // that there must be
	arg     func(i int64) int64           // its parameter; nil if it has none
	good    func(rows []T, id int64) bool // looks at some of the rows; id is the parameter
	columns func(*sqlite.Stmt) T          // a row by hand
	fields  func(*T) []any                // where database/sql is to put a row
}

// reader is a query, whatever its rows are.
type reader interface {
	text() string
	sanelite(ctx context.Context, db *sqlitex.DB) func(i int64) error
	zombiezen(stmt *sqlite.Stmt) func(i int64) error
	databaseSQL(stmt *sql.Stmt) func(i int64) error
}

// The rows that are read, beside user.
type (
	event struct {
		ID      int64
		Kind    string
		Body    string
		Created int64
	}
	group struct {
		ID       int64
		Name     string
		Comments int64
		Latest   int64
	}
	comment struct {
		ID        int64
		Name      string
		ArticleID int64
		Title     string
		CommentID int64
		Body      string
	}
	largeText struct {
		ID   int64
		Body string
	}
)

// readers are the queries; js/side.mjs has them once more.
var readers = map[Work]reader{
	WorkAll: query[user]{
		sql: selectAll, rows: Rows,
		good:    func(rows []user, _ int64) bool { return rows[0].Name == "user1" && rows[Rows-1].Created == Rows },
		columns: zombiezenUser,
		fields:  func(u *user) []any { return []any{&u.ID, &u.Name, &u.Email, &u.Created} },
	},
	WorkMany: query[event]{
		sql: selectMany, rows: events,
		good: func(rows []event, _ int64) bool {
			return rows[0].Body == "event number 1" && rows[events-1].ID == events
		},
		columns: func(s *sqlite.Stmt) event {
			return event{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2), s.ColumnInt64(3)}
		},
		fields: func(e *event) []any { return []any{&e.ID, &e.Kind, &e.Body, &e.Created} },
	},
	WorkGroup: query[group]{
		sql: selectGroups, rows: members,
		good: func(rows []group, _ int64) bool {
			return rows[0].Name == "member1" && rows[members-1].Comments == articles*comments
		},
		columns: func(s *sqlite.Stmt) group {
			return group{s.ColumnInt64(0), s.ColumnText(1), s.ColumnInt64(2), s.ColumnInt64(3)}
		},
		fields: func(g *group) []any { return []any{&g.ID, &g.Name, &g.Comments, &g.Latest} },
	},
	WorkComments: query[comment]{
		sql: selectComments, rows: articles * comments,
		arg: func(i int64) int64 { return i*37%members + 1 },
		good: func(rows []comment, id int64) bool {
			return rows[0].ID == id && rows[len(rows)-1].ArticleID == id*articles && strings.HasPrefix(rows[0].Body, "comment ")
		},
		columns: func(s *sqlite.Stmt) comment {
			return comment{s.ColumnInt64(0), s.ColumnText(1), s.ColumnInt64(2), s.ColumnText(3), s.ColumnInt64(4), s.ColumnText(5)}
		},
		fields: func(c *comment) []any {
			return []any{&c.ID, &c.Name, &c.ArticleID, &c.Title, &c.CommentID, &c.Body}
		},
	},
	WorkLarge: query[largeText]{
		sql: selectText, rows: texts,
		good: func(rows []largeText, _ int64) bool {
			return strings.HasPrefix(rows[0].Body, "000001") && len(rows[texts-1].Body) == textSize
		},
		columns: func(s *sqlite.Stmt) largeText { return largeText{s.ColumnInt64(0), s.ColumnText(1)} },
		fields:  func(t *largeText) []any { return []any{&t.ID, &t.Body} },
	},
}

func (q query[T]) text() string { return q.sql }

// args are the arguments of call i.
func (q query[T]) args(i int64) []any {
	if q.arg == nil {
		return nil
	}
	return []any{q.arg(i)}
}

func (q query[T]) check(rows []T, i int64) error {
	if len(rows) != q.rows {
		return fmt.Errorf("%d rows, want %d", len(rows), q.rows)
	}
	var id int64
	if q.arg != nil {
		id = q.arg(i)
	}
	if !q.good(rows, id) {
		return errWrongRow
	}
	return nil
}

func (q query[T]) sanelite(ctx context.Context, db *sqlitex.DB) func(int64) error {
	return func(i int64) error {
		rows, err := sqlitex.All[T](ctx, db, q.sql, q.args(i)...)
		if err != nil {
			return err
		}
		return q.check(rows, i)
	}
}

func (q query[T]) zombiezen(stmt *sqlite.Stmt) func(int64) error {
	return func(i int64) error {
		if q.arg != nil {
			stmt.BindInt64(1, q.arg(i))
		}
		var rows []T
		for {
			row, err := stmt.Step()
			if err != nil {
				return err
			}
			if !row {
				break
			}
			rows = append(rows, q.columns(stmt))
		}
		if err := stmt.Reset(); err != nil {
			return err
		}
		return q.check(rows, i)
	}
}

func (q query[T]) databaseSQL(stmt *sql.Stmt) func(int64) error {
	return func(i int64) error {
		found, err := stmt.Query(q.args(i)...)
		if err != nil {
			return err
		}
		defer found.Close()
		var rows []T
		var row T
		fields := q.fields(&row)
		for found.Next() {
			if err := found.Scan(fields...); err != nil {
				return err
			}
			rows = append(rows, row)
		}
		if err := found.Err(); err != nil {
			return err
		}
		return q.check(rows, i)
	}
}
