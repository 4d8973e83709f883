package suite

import (
	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/servers"
)

// Servers compare this library with database servers on the same machine. The targets are the ratios of a published table, which
// compared synchronous NORMAL with the servers as they come.
func Servers() []harness.Workload {
	return []harness.Workload{
		against("server-insert", "one client inserts one row at a time, a commit each", "insert", servers.Spec{Work: servers.Insert, Clients: 1}, 7, 7),
		against("server-insert-8", "8 clients insert one row at a time, a commit each", "insert", servers.Spec{Work: servers.Insert, Clients: 8}, 0, 0),
		against("server-insert-64", "64 clients insert one row at a time, a commit each", "insert", servers.Spec{Work: servers.Insert, Clients: 64}, 0, 0),
		against("server-transaction", "50,000 rows in one transaction, one INSERT each", "row", servers.Spec{Work: servers.Transaction, Clients: 1}, 39, 40),
		against("server-row", "one client reads one row of 50,000 by key", "read", servers.Spec{Work: servers.Row, Clients: 1}, 19, 21),
		against("server-row-8", "8 clients read one row of 50,000 by key", "read", servers.Spec{Work: servers.Row, Clients: 8}, 0, 0),
		against("server-row-64", "64 clients read one row of 50,000 by key", "read", servers.Spec{Work: servers.Row, Clients: 64}, 0, 0),
		against("server-all", "SELECT of 50,000 rows into a slice of structs", "read", servers.Spec{Work: servers.All, Clients: 1}, 2.7, 1.8),
	}
}

// against makes a workload; postgres and mariadb are the published ratios, or 0.
func against(name, title, unit string, spec servers.Spec, postgres, mariadb float64) harness.Workload {
	const normal, full = sanelite + " NORMAL", sanelite + " FULL"
	return harness.Workload{
		Name: name, Title: title, Unit: unit,
		Open: func(dir string) ([]harness.Side, func() error, error) {
			running := servers.Start(dir)
			writes := spec.Work == servers.Insert || spec.Work == servers.Transaction
			side := func(peer servers.Peer, name string, change func(*servers.Spec), unix bool, compare ...harness.Compare) harness.Side {
				s := spec
				s.Peer = peer
				if change != nil {
					change(&s)
				}
				return running.Side(s, name, unix, compare...)
			}
			published := func(with string, than float64) harness.Compare {
				c := harness.Compare{With: with, By: harness.Speedup, Published: than}
				if than > 0 {
					c.Op, c.Than = harness.AtLeast, than
				}
				return c
			}
			told := func(with string) harness.Compare { return speedup(with, harness.NoTarget, 0) }
			ours := normal
			if !writes {
				ours = sanelite
			}
			sides := []harness.Side{side(servers.Sanelite, ours, nil, false)}
			postgresSide, mariadbSide := []harness.Compare{published(ours, postgres)}, []harness.Compare{published(ours, mariadb)}
			if writes {
				sides = append(sides, side(servers.Sanelite, full, func(s *servers.Spec) { s.Full = true }, false, told(normal)))
				postgresSide, mariadbSide = append(postgresSide, told(full)), append(mariadbSide, told(full))
			}
			sides = append(sides, side(servers.Postgres, "PostgreSQL", nil, false, postgresSide...))
			if writes {
				sides = append(sides, side(servers.Postgres, "PostgreSQL, synchronous_commit off", func(s *servers.Spec) { s.Async = true }, false, told(normal)))
			}
			sides = append(sides,
				side(servers.Postgres, "PostgreSQL, Unix socket", nil, true, told(ours)),
				side(servers.MariaDB, "MariaDB", nil, false, mariadbSide...),
				side(servers.MariaDB, "MariaDB, Unix socket", nil, true, told(ours)),
			)
			if spec.Work == servers.Row && spec.Clients == 1 {
				sides = append(sides, running.PGBench("PostgreSQL by pgbench", told(ours)))
			}
			return sides, running.Stop, nil
		},
	}
}
