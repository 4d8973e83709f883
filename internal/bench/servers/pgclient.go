package servers

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// postgres is a server, and a connection for what is not measured. pgx prepares statements by itself and keeps them.
type postgres struct {
	url string
	pgConn
}

type pgConn struct{ conn *pgx.Conn }

func openPostgres(ctx context.Context, s Spec) (connector, harness.Info, error) {
	info := harness.Info{Settings: map[string]string{}}
	url := s.At
	if s.Async {
		url += " options='-c synchronous_commit=off'"
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, info, err
	}
	for _, name := range []string{"synchronous_commit", "fsync", "server_version"} {
		var value string
		if err := conn.QueryRow(ctx, "SHOW "+name).Scan(&value); err != nil {
			return nil, info, errors.Join(err, conn.Close(ctx))
		}
		info.Settings[name] = value
	}
	version, _, _ := strings.Cut(info.Settings["server_version"], " ") // then follows the package's
	info.SQLite = "PostgreSQL " + version
	return &postgres{url, pgConn{conn}}, info, nil
}

func (p *postgres) connect(ctx context.Context) (client, error) {
	conn, err := pgx.Connect(ctx, p.url)
	return pgConn{conn}, err
}

func (p *postgres) empty(ctx context.Context) error {
	_, err := p.conn.Exec(ctx, `TRUNCATE users RESTART IDENTITY`)
	return err
}

func (p *postgres) fill(ctx context.Context) error {
	_, err := p.conn.Exec(ctx, `INSERT INTO users SELECT i, 'user' || i, 'user' || i || '@example.com', i FROM generate_series(1, $1::bigint) AS s(i)`, int64(Rows))
	if err == nil {
		_, err = p.conn.Exec(ctx, `VACUUM ANALYZE users`) // as autovacuum does a minute later
	}
	return err
}

func (p *postgres) count(ctx context.Context) (n int64, err error) {
	return n, p.conn.QueryRow(ctx, countSQL).Scan(&n)
}

func (p pgConn) Close() error { return p.conn.Close(context.Background()) }

const (
	pgInsert = `INSERT INTO users (name, email, created) VALUES ($1, $2, $3)`
	pgRow    = `SELECT id, name, email, created FROM users WHERE id = $1`
)

func (p pgConn) insert(ctx context.Context, created int64) error {
	_, err := p.conn.Exec(ctx, pgInsert, name, email, created)
	return err
}

func (p pgConn) insertAll(ctx context.Context, rows int64) error {
	return pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		for i := range rows {
			if _, err := tx.Exec(ctx, pgInsert, name, email, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p pgConn) row(ctx context.Context, id int64) (u record, err error) {
	return u, p.conn.QueryRow(ctx, pgRow, id).Scan(&u.ID, &u.Name, &u.Email, &u.Created)
}

func (p pgConn) all(ctx context.Context) ([]record, error) {
	rows, err := p.conn.Query(ctx, allSQL)
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
