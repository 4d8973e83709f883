package main

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// item is a row of the table and, as it is, what clients get.
type item struct {
	ID        int64     `json:"id"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// itemInput is what clients may say about an item.
type itemInput struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

const longestTitle = 200

// validate tidies the input up, and names what is wrong with it.
func (in *itemInput) validate() error {
	in.Title = strings.TrimSpace(in.Title)
	wrong := ""
	switch {
	case in.Title == "":
		wrong = "is required"
	case utf8.RuneCountInString(in.Title) > longestTitle:
		wrong = "must not be longer than 200 characters"
	default:
		return nil
	}
	return &problem{
		status: http.StatusUnprocessableEntity, Code: "invalid", Message: "the item is not valid",
		Fields: map[string]string{"title": wrong},
	}
}

const columns = `id, title, body, created_at, updated_at`

func getItem(ctx context.Context, db *sqlitex.DB, id int64) (item, error) {
	return sqlitex.One[item](ctx, db, `SELECT `+columns+` FROM items WHERE id = ?`, id)
}

// itemPage is a part of the list of items, and where the next one begins.
type itemPage struct {
	Items []item `json:"items"`
	Next  int64  `json:"next_after,omitempty"` // to be given as after; 0 at the end
}

// pageOfItems returns items in the order of their ids. It goes on behind an id, not an offset: as fast on the last page as on the
// first, and nothing is shown twice when others come and go.
func pageOfItems(ctx context.Context, db *sqlitex.DB, after, limit int64) (itemPage, error) {
	list, err := sqlitex.All[item](ctx, db, `SELECT `+columns+` FROM items WHERE id > ? ORDER BY id LIMIT ?`, after, limit+1)
	if err != nil {
		return itemPage{}, err
	}
	p := itemPage{Items: list}
	if int64(len(list)) > limit { // the one too many tells that there is more
		p.Items = list[:limit]
		p.Next = p.Items[limit-1].ID
	}
	return p, nil
}

// The three below are one statement each, so that clients who write to the same app at the same time share a commit.

func createItem(ctx context.Context, db *sqlitex.DB, in itemInput) (id int64, err error) {
	now := time.Now()
	return sqlitex.ExecOne[int64](ctx, db,
		`INSERT INTO items (title, body, created_at, updated_at) VALUES (?, ?, ?, ?) RETURNING id`,
		in.Title, in.Body, now, now)
}

// updateItem answers ErrNoRows, as getItem does, where there is no such item.
func updateItem(ctx context.Context, db *sqlitex.DB, id int64, in itemInput) (item, error) {
	return sqlitex.ExecOne[item](ctx, db,
		`UPDATE items SET title = ?, body = ?, updated_at = ? WHERE id = ? RETURNING `+columns,
		in.Title, in.Body, time.Now(), id)
}

func deleteItem(ctx context.Context, db *sqlitex.DB, id int64) error {
	res, err := db.Exec(ctx, `DELETE FROM items WHERE id = ?`, id)
	if err == nil && res.RowsAffected == 0 {
		err = sqlitex.ErrNoRows
	}
	return err
}

// appStats are figures of one app.
type appStats struct {
	Items       int64 `json:"items"`
	Bytes       int64 `json:"bytes"`       // of the database file
	Connections int   `json:"connections"` // that read, at this moment
	LogPages    int   `json:"log_pages"`   // in the write-ahead log
	Commits     int64 `json:"commits"`     // since the database was opened
	Writes      int64 `json:"writes"`      // that shared them
}

func statsOfApp(ctx context.Context, db *sqlitex.DB) (appStats, error) {
	var s appStats
	err := db.Read(ctx, func(r *tx.Reader) (err error) {
		if s.Items, err = tx.One[int64](r, `SELECT count(*) FROM items`); err != nil {
			return err
		}
		s.Bytes, err = tx.One[int64](r, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`)
		return err
	})
	figures := db.Stats()
	s.Connections, s.LogPages = figures.Readers.Open, figures.WAL.Pages
	s.Commits, s.Writes = figures.Writer.Commits, figures.Writer.Callers
	return s, err
}
