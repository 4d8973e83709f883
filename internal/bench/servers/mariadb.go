package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql" // the driver
)

// startMariaDB starts a server with a new data folder below dir. Settings are the defaults but for where it listens, and how
// many may connect.
func startMariaDB(dir string) (*process, error) {
	server, err := exec.LookPath("mariadbd")
	if err != nil {
		return nil, errors.New("MariaDB is not installed (apt-get install mariadb-server): no mariadbd")
	}
	install, err := exec.LookPath("mariadb-install-db")
	if err != nil {
		return nil, err
	}
	u, err := account("mysql")
	if err != nil {
		return nil, err
	}
	data, err := folder(dir, "mariadb", u)
	if err != nil {
		return nil, err
	}
	p := &process{dir: data, socket: filepath.Join(data, "socket")}
	if err := run(command(u, data, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")); err != nil {
		return nil, err
	}
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	p.cmd = command(u, data, server, "--no-defaults", "--datadir="+data, "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", p.port),
		"--socket="+p.socket, "--pid-file="+filepath.Join(data, "pid"), "--"+mostConnections)
	return p, p.start(func(ctx context.Context) error {
		db, err := sql.Open("mysql", p.mariaDBName(true, "mysql"))
		if err != nil {
			return err
		}
		defer db.Close()
		for _, statement := range []string{
			`CREATE DATABASE IF NOT EXISTS bench`,
			`CREATE TABLE IF NOT EXISTS bench.users (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(255), email VARCHAR(255), created BIGINT) ENGINE=InnoDB`,
			`CREATE USER IF NOT EXISTS 'bench'@'127.0.0.1', 'bench'@'localhost'`,
			`GRANT ALL ON bench.* TO 'bench'@'127.0.0.1', 'bench'@'localhost'`,
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *process) mariaDBName(unix bool, database string) string {
	name := "bench"
	if database == "mysql" {
		name = "root"
	}
	if unix {
		return fmt.Sprintf("%s@unix(%s)/%s", name, p.socket, database)
	}
	return fmt.Sprintf("%s@tcp(127.0.0.1:%d)/%s", name, p.port, database)
}
