package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"
)

// postgresProgram finds a program of the server, which Debian keeps off the PATH.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL is not installed (apt-get install postgresql): no %s", name)
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

// mostConnections is room for the clients of all sides at once, which are connected while they wait for their turn.
const mostConnections = "max_connections=400"

// startPostgres starts a server with a new data folder below dir. Settings are the defaults but for where it listens, and how
// many may connect.
func startPostgres(dir string) (*process, error) {
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return nil, err
	}
	server, err := postgresProgram("postgres")
	if err != nil {
		return nil, err
	}
	u, err := account("postgres")
	if err != nil {
		return nil, err
	}
	data, err := folder(dir, "postgres", u)
	if err != nil {
		return nil, err
	}
	if err := run(command(u, data, initdb, "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C")); err != nil {
		return nil, err
	}
	p := &process{dir: data, socket: data}
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	p.cmd = command(u, data, server, "-D", data, "-p", fmt.Sprint(p.port), "-h", "127.0.0.1", "-k", data, "-c", mostConnections)
	return p, p.start(func(ctx context.Context) error {
		c, err := pgx.Connect(ctx, p.postgresURL(false))
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `CREATE TABLE users (id BIGSERIAL PRIMARY KEY, name TEXT, email TEXT, created BIGINT)`)
		return errors.Join(err, c.Close(ctx))
	})
}

func (p *process) postgresURL(unix bool) string {
	if unix {
		return fmt.Sprintf("host=%s port=%d user=bench dbname=postgres", p.socket, p.port)
	}
	return fmt.Sprintf("host=127.0.0.1 port=%d user=bench dbname=postgres", p.port)
}
