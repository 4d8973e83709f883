package tx

import "github.com/sanelite/sanelite/internal/bind"

// Args binds the fields of a struct, or of a pointer to one, to the named parameters of a statement: field UserID to
// :user_id, @user_id or $user_id, unless a tag `db:"name"` says otherwise. Fields that no parameter names are left alone; a
// parameter without a field is an error. The tag options json, unix and unixmilli apply as they do for rows.
//
//	w.Exec(`INSERT INTO users (name, email) VALUES (:name, :email)`, tx.Args(user))
//
// It must be the only argument. It is checked when the statement runs.
func Args(v any) any { return bind.Struct{V: v} }

// List binds a slice as a JSON array, for lists of any length in one statement:
//
//	tx.All[User](r, `SELECT * FROM users WHERE id IN (SELECT value FROM json_each(?))`, tx.List(ids))
//
// Elements are integers, floats, strings, bools and times; a nil slice is an empty list. Blobs have no form in JSON and are
// an error. https://www.sqlite.org/json1.html#jeach
func List[T any](values []T) any { return bind.List{V: values} }
