package servers

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// mariadb is a server through database/sql.
type mariadb struct{ db *sql.DB }

func openMariaDB(ctx context.Context, s Spec) (connector, harness.Info, error) {
	info := harness.Info{Settings: map[string]string{}}
	db, err := sql.Open("mysql", s.At)
	if err != nil {
		return nil, info, err
	}
	db.SetMaxOpenConns(s.Clients + 1)
	db.SetMaxIdleConns(s.Clients + 1)
	var flush, version string
	if err := db.QueryRowContext(ctx, `SELECT @@innodb_flush_log_at_trx_commit, @@version`).Scan(&flush, &version); err != nil {
		return nil, info, errors.Join(err, db.Close())
	}
	info.Settings["innodb_flush_log_at_trx_commit"] = flush
	version, _, _ = strings.Cut(version, "-")
	info.SQLite = "MariaDB " + version
	return &mariadb{db}, info, nil
}

func (m *mariadb) Close() error { return m.db.Close() }

func (m *mariadb) empty(ctx context.Context) error {
	_, err := m.db.ExecContext(ctx, `TRUNCATE users`)
	return err
}

func (m *mariadb) fill(ctx context.Context) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SET max_recursive_iterations = 1000000`); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO users WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)
		SELECT i, CONCAT('user', i), CONCAT('user', i, '@example.com'), i FROM c`, Rows)
	return err
}

func (m *mariadb) count(ctx context.Context) (n int64, err error) {
	return n, m.db.QueryRowContext(ctx, countSQL).Scan(&n)
}

// mariadbConn is a connection with its prepared statements. They are faster than interpolateParams for single rows, and than
// text for many.
type mariadbConn struct {
	conn                        *sql.Conn
	inserts, selects, selectAll *sql.Stmt
}

func (m *mariadb) connect(ctx context.Context) (client, error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &mariadbConn{conn: conn}
	for sql, statement := range map[string]**sql.Stmt{insertSQL: &c.inserts, rowSQL: &c.selects, allSQL: &c.selectAll} {
		if *statement, err = conn.PrepareContext(ctx, sql); err != nil {
			return nil, errors.Join(err, conn.Close()) // and with it its statements
		}
	}
	return c, nil
}

func (c *mariadbConn) Close() error {
	return errors.Join(c.inserts.Close(), c.selects.Close(), c.selectAll.Close(), c.conn.Close())
}

func (c *mariadbConn) insert(ctx context.Context, created int64) error {
	_, err := c.inserts.ExecContext(ctx, name, email, created)
	return err
}

func (c *mariadbConn) insertAll(ctx context.Context, rows int64) error {
	t, err := c.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // does nothing after Commit
	inside := t.StmtContext(ctx, c.inserts)
	for i := range rows {
		if _, err := inside.ExecContext(ctx, name, email, i); err != nil {
			return err
		}
	}
	return t.Commit()
}

func (c *mariadbConn) row(ctx context.Context, id int64) (u record, err error) {
	return u, c.selects.QueryRowContext(ctx, id).Scan(&u.ID, &u.Name, &u.Email, &u.Created)
}

func (c *mariadbConn) all(ctx context.Context) ([]record, error) {
	rows, err := c.selectAll.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var users []record
	var u record // here, so that it is allocated once
	for rows.Next() {
		if err := rows.Scan(&u.ID, &u.Name, &u.Email, &u.Created); err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, rows.Err()
}
