package social

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/sqlitex"
)

// migrations bring a database from version i to i+1. Append to them; never change one that has been released.
var migrations = []string{
	`CREATE TABLE users (
		id         INTEGER PRIMARY KEY,
		handle     TEXT NOT NULL UNIQUE,
		name       TEXT NOT NULL,
		created_at INTEGER NOT NULL -- milliseconds since 1970, like all times here
	) STRICT;
	CREATE TABLE posts (
		id         INTEGER PRIMARY KEY AUTOINCREMENT, -- newer is greater: timelines are ordered by it
		user_id    INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
		body       TEXT NOT NULL,
		created_at INTEGER NOT NULL
	) STRICT;
	CREATE INDEX posts_of_user ON posts (user_id, id);
	CREATE TABLE follows (
		follower_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
		followee_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
		PRIMARY KEY (follower_id, followee_id),
		CHECK (follower_id <> followee_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX followers ON follows (followee_id, follower_id);
	CREATE TABLE likes (
		post_id INTEGER NOT NULL REFERENCES posts ON DELETE CASCADE,
		user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
		PRIMARY KEY (post_id, user_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX likes_of_user ON likes (user_id, post_id);
	CREATE TABLE mentions (
		user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
		post_id INTEGER NOT NULL REFERENCES posts ON DELETE CASCADE,
		PRIMARY KEY (user_id, post_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX mentions_in_post ON mentions (post_id, user_id);`,

	// A timeline shows 20 numbers of likes. Counting them is 20 searches, and slow for the post that everybody likes. Triggers
	// keep the number whoever writes, and leave a like a single statement, which can share its commit with others.
	`ALTER TABLE posts ADD COLUMN likes INTEGER NOT NULL DEFAULT 0;
	UPDATE posts SET likes = (SELECT count(*) FROM likes WHERE post_id = posts.id);
	CREATE TRIGGER liked AFTER INSERT ON likes BEGIN
		UPDATE posts SET likes = likes + 1 WHERE id = new.post_id;
	END;
	CREATE TRIGGER unliked AFTER DELETE ON likes BEGIN
		UPDATE posts SET likes = likes - 1 WHERE id = old.post_id;
	END;`,

	// Handles that differ in case only were two users: the older one keeps it, others get their id behind theirs. SQLite cannot add a
	// collation or a CHECK to a table, so it is made anew: https://www.sqlite.org/lang_altertable.html#otheralter
	`CREATE TABLE new_users (
		id         INTEGER PRIMARY KEY,
		handle     TEXT NOT NULL UNIQUE COLLATE NOCASE CHECK (length(handle) BETWEEN 1 AND 30 AND handle NOT GLOB '*[^a-zA-Z0-9_]*'),
		name       TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
		created_at INTEGER NOT NULL
	) STRICT;
	INSERT INTO new_users SELECT id,
		CASE WHEN row_number() OVER (PARTITION BY lower(handle) ORDER BY id) = 1 THEN handle ELSE substr(handle, 1, 19) || '_' || id END,
		name, created_at FROM users ORDER BY id;
	DROP TABLE users;
	ALTER TABLE new_users RENAME TO users;`,
}

// migrate brings the schema up to date, each step in a transaction of its own. Several processes may do it at once.
func migrate(ctx context.Context, db *sqlitex.DB, steps []string) error {
	for {
		version, err := sqlitex.One[int](ctx, db, `PRAGMA user_version`)
		switch {
		case err != nil:
			return err
		case version > len(steps):
			return fmt.Errorf("%w: it has version %d, this one knows %d", ErrNewer, version, len(steps))
		case version == len(steps):
			return nil
		}
		if err := db.WriteConn(ctx, func(c *sqlite.Conn) error { return step(c, version, steps[version]) }); err != nil {
			return fmt.Errorf("migration to version %d: %w", version+1, err)
		}
	}
}

// step runs one migration. Foreign keys must be off where a table that others refer to is made anew: dropping the old one would
// delete their rows. Inside a transaction the pragma does nothing, so it comes before; the handle switches foreign keys on
// again when it gets its connection back. https://www.sqlite.org/pragma.html#pragma_foreign_keys
func step(c *sqlite.Conn, version int, script string) (err error) {
	run := func(sql string) error { return zsqlitex.ExecuteTransient(c, sql, nil) }
	if err := run(`PRAGMA foreign_keys = OFF`); err != nil {
		return err
	}
	if err := run(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, run(`ROLLBACK`))
		}
	}()
	now := -1
	err = zsqlitex.ExecuteTransient(c, `PRAGMA user_version`, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		now = s.ColumnInt(0)
		return nil
	}})
	if err != nil {
		return err
	}
	if now != version {
		return run(`ROLLBACK`) // another process has been faster
	}
	if err := zsqlitex.ExecuteScript(c, script, nil); err != nil {
		return err
	}
	err = zsqlitex.ExecuteTransient(c, `PRAGMA foreign_key_check`, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		return fmt.Errorf("a row of %s refers to one of %s that is not there", s.ColumnText(0), s.ColumnText(2))
	}})
	if err != nil {
		return err
	}
	if err := run(fmt.Sprintf(`PRAGMA user_version = %d`, version+1)); err != nil {
		return err
	}
	return run(`COMMIT`)
}
