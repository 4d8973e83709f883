package main

import (
	"context"
	"fmt"
	"net/http"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// migrations bring a database from version i to i+1. Append to them; never change one that has been released.
var migrations = []string{
	`CREATE TABLE users (
		id         INTEGER PRIMARY KEY AUTOINCREMENT, -- an id is never used again
		name       TEXT NOT NULL,
		email      TEXT NOT NULL UNIQUE COLLATE NOCASE,
		created_at TEXT NOT NULL,
		updated_at TEXT NOT NULL
	) STRICT`,
}

// user is a row of the table and, as it is, what clients get.
type user struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// userInput is what clients may say about a user.
type userInput struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// validate tidies the input up, and names all that is wrong with it.
func (in *userInput) validate() error {
	in.Name, in.Email = strings.TrimSpace(in.Name), strings.TrimSpace(in.Email)
	wrong := map[string]string{}
	switch n := utf8.RuneCountInString(in.Name); {
	case n == 0:
		wrong["name"] = "is required"
	case n > 100:
		wrong["name"] = "must not be longer than 100 characters"
	}
	switch address, err := mail.ParseAddress(in.Email); {
	case in.Email == "":
		wrong["email"] = "is required"
	case len(in.Email) > 254:
		wrong["email"] = "must not be longer than 254 bytes"
	case err != nil || address.Address != in.Email:
		wrong["email"] = "must be an email address"
	}
	if len(wrong) > 0 {
		return &problem{status: http.StatusUnprocessableEntity, Code: "invalid", Message: "the user is not valid", Fields: wrong}
	}
	return nil
}

// users are stored in a table. Methods return the errors of the library; errors.go says what becomes of them.
type users struct {
	db *sqlitex.DB
}

// openUsers brings the schema up to date.
func openUsers(ctx context.Context, db *sqlitex.DB) (*users, error) {
	err := db.Write(ctx, func(w *tx.Writer) error {
		version, err := tx.One[int](w, `PRAGMA user_version`)
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("the database has schema version %d, this program knows %d", version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			if err := w.Script(migrations[version]); err != nil {
				return err
			}
		}
		return w.Script(`PRAGMA user_version = ` + strconv.Itoa(version)) // a pragma takes no parameters
	})
	return &users{db}, err
}

const columns = `id, name, email, created_at, updated_at`

func (u *users) get(ctx context.Context, id int64) (user, error) {
	return sqlitex.One[user](ctx, u.db, `SELECT `+columns+` FROM users WHERE id = ?`, id)
}

// userPage is a part of the list of users, and where the next one begins.
type userPage struct {
	Users []user `json:"users"`
	Next  int64  `json:"next_after,omitempty"` // to be given as after; 0 at the end
}

// page returns users in the order of their ids. It goes on behind an id, not an offset: as fast on the last page as on the
// first, and nobody is shown twice when others come and go.
func (u *users) page(ctx context.Context, after, limit int64) (userPage, error) {
	list, err := sqlitex.All[user](ctx, u.db, `SELECT `+columns+` FROM users WHERE id > ? ORDER BY id LIMIT ?`, after, limit+1)
	if err != nil {
		return userPage{}, err
	}
	p := userPage{Users: list}
	if int64(len(list)) > limit { // the one too many tells that there is more
		p.Users = list[:limit]
		p.Next = p.Users[limit-1].ID
	}
	return p, nil
}

func (u *users) create(ctx context.Context, in userInput) (user, error) {
	now := time.Now()
	return sqlitex.ExecOne[user](ctx, u.db,
		`INSERT INTO users (name, email, created_at, updated_at) VALUES (?, ?, ?, ?) RETURNING `+columns,
		in.Name, in.Email, now, now)
}

// update answers ErrNoRows, as get does, where there is no such user.
func (u *users) update(ctx context.Context, id int64, in userInput) (user, error) {
	return sqlitex.ExecOne[user](ctx, u.db,
		`UPDATE users SET name = ?, email = ?, updated_at = ? WHERE id = ? RETURNING `+columns,
		in.Name, in.Email, time.Now(), id)
}

func (u *users) delete(ctx context.Context, id int64) error {
	res, err := u.db.Exec(ctx, `DELETE FROM users WHERE id = ?`, id)
	if err == nil && res.RowsAffected == 0 {
		err = sqlitex.ErrNoRows
	}
	return err
}
