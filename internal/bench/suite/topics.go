package suite

import (
	stdtime "time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// A Topic is a list of workloads that belong together in the report.
type Topic struct {
	Name      string // of its command, too
	Title     string
	Text      string // what is measured, and how; Markdown
	Workloads []harness.Workload
	Plan      harness.Plan
}

// Topics are all there are, in the order of the report.
func Topics() []Topic {
	return []Topic{
		{
			Name: "reads", Title: "Reads",
			Text: "A table of 50,000 users (id, two texts, an integer), 16 MiB of page cache, WAL. Every read sees the newest commit: " +
				"the others begin and end a read transaction for each, as they do by themselves.\n\n" +
				"*Where others win.* Many rows at once, and rows that are inserted in bulk, are bound by SQLite's own code, which here is C translated to " +
				"Go and takes about twice as long as C itself. Bun has little around C, so it leads there. For single rows the translation costs as much, but " +
				"the snapshot that is kept saves more.",
			Workloads: Reads(), Plan: harness.Plan{Rounds: 7, Time: 300 * stdtime.Millisecond},
		},
		{
			Name: "writes", Title: "Writes",
			Text: "One row at a time, one commit each, where the side does not share commits. What one connection writes from " +
				"several goroutines, `database/sql` or a mutex serialises.\n\n" +
				"*Where others win.* The median of a steady load is longer here than behind a mutex: a caller's commit waits for those it is shared with, and a " +
				"goroutine has to be woken up. In turn the slowest one in a thousand is several times as fast. Bulk inserts: see Reads.",
			Workloads: Writes(), Plan: harness.Plan{Rounds: 7, Time: 500 * stdtime.Millisecond},
		},
		{
			Name: "drivers", Title: "Queries, with all drivers",
			Text: "What programs ask for beside single rows. mattn, modernc and ncruces go through `database/sql`; all Go sides read into the same structs, " +
				"the sides in JavaScript into arrays of objects.",
			Workloads: Drivers(), Plan: harness.Plan{Rounds: 5, Time: 300 * stdtime.Millisecond},
		},
		{
			Name: "timeline", Title: "A social network beside live writes",
			Text: "[examples/chirp](../examples/chirp/README.md) with 50,000 users, a million posts, 2.5 million follows and 2 million likes: the newest " +
				"20 posts of those whom a random user follows, with authors and likes. The writer posts, likes and follows in turn, one commit each.",
			Workloads: Timeline(), Plan: harness.Plan{Rounds: 5, Time: 2 * stdtime.Second},
		},
		{
			Name: "web", Title: "Services over HTTP",
			Text: "[examples/crud](../examples/crud/README.md) on net/http, and the same service on Bun with Hono and bun:sqlite and on Node.js with Hono and " +
				"better-sqlite3: the same answers, compared endpoint by endpoint by a test, the same settings of SQLite, 50,000 users. Then " +
				"[examples/tenants](../examples/tenants/README.md), a file for each app. Each service and the clients are processes of their own." +
				"\n\n*Where others win.* A user read by id takes hardly more processor time than the health check does, which reads next to nothing: that is " +
				"net/http, which takes twice as long for a request as Bun's server in C++. Where requests have a body, net/http and JSON take about as much as the write. Shared " +
				"commits make up for it where the database has more to do, as in creating and deleting. Services and clients share the processors of the machine, " +
				"so that with few of them Go's use of all is of little help.",
			Workloads: Web(), Plan: harness.Plan{Rounds: 5, Time: stdtime.Second},
		},
		{
			Name: "servers", Title: "Database servers on the same machine",
			Text: "The same table and statements on PostgreSQL and MariaDB, with their default settings, through pgx and go-sql-driver/mysql, prepared, " +
				"over TCP on the loopback device and over a Unix socket. A table that was published compared synchronous NORMAL with the servers as they come, " +
				"which wait for the disk at every commit; so beside it stand FULL, which does so too, and PostgreSQL with synchronous_commit off, which does not.",
			Workloads: Servers(), Plan: harness.Plan{Rounds: 5, Time: 500 * stdtime.Millisecond},
		},
	}
}
