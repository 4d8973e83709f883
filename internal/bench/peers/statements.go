package peers

const (
	// Rows is the size of the table that is read by key and as a whole, and written to.
	Rows = 50_000
	// BulkRows is the number of rows in a transaction of WorkBulk.
	BulkRows = 50_000
)

// Schema, data and statements are the same for all sides; js and c repeat the statements.
const (
	schema    = `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created INTEGER)`
	fill      = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50000) INSERT INTO users SELECT i, 'user' || i, 'user' || i || '@example.com', i FROM c`
	selectRow = `SELECT id, name, email, created FROM users WHERE id = ?`
	selectAll = `SELECT id, name, email, created FROM users`
	insert    = `INSERT INTO users (name, email, created) VALUES (?, ?, ?)`
	update    = `UPDATE users SET created = created + 1 WHERE id = ?`
	empty     = `DELETE FROM users`
	truncate  = `PRAGMA wal_checkpoint(TRUNCATE)`
)

type user struct {
	ID      int64
	Name    string
	Email   string
	Created int64
}

// key walks over all keys in an order that looks random.
func key(i int64) int64 { return i*31337%Rows + 1 }

// The database of the queries that programs make: users who wrote articles that have comments, and two tables of their own with
// many rows and with large ones.
const (
	members  = 200 // users
	articles = 20  // of each user
	comments = 20  // on each article
	events   = 100_000
	texts    = 100
	textSize = 200_000 // bytes
)

var library = []string{
	`CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT)`,
	`CREATE TABLE articles (id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES members, title TEXT)`,
	`CREATE TABLE comments (id INTEGER PRIMARY KEY, article_id INTEGER REFERENCES articles, body TEXT, created INTEGER)`,
	`CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT, body TEXT, created INTEGER)`,
	`CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT)`,
	`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200)
		INSERT INTO members SELECT i, 'member' || i FROM c`,
	`WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 200*20 - 1)
		INSERT INTO articles SELECT i + 1, i / 20 + 1, 'article ' || (i + 1) || ' of those in the library' FROM c`,
	// Comments arrive in another order than the articles, so those of one user lie all over the table.
	`WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 200*20*20 - 1)
		INSERT INTO comments SELECT i + 1, i * 1237 % (200*20) + 1, 'comment ' || (i + 1) || ', in which a reader says what there is to say', i FROM c`,
	`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000)
		INSERT INTO events SELECT i, 'kind' || i % 10, 'event number ' || i, 1700000000 + i FROM c`,
	`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)
		INSERT INTO texts SELECT i, printf('%06d', i) || substr(replace(hex(zeroblob(50000)), '00', 'text'), 7) FROM c`,
	`CREATE INDEX articles_member ON articles (member_id)`,
	`CREATE INDEX comments_article ON comments (article_id)`,
	// Sanelite would do so when it opens the database, and the others would get its plans or not by who starts first.
	`ANALYZE`,
}

const (
	selectMany = `SELECT id, kind, body, created FROM events`
	selectText = `SELECT id, body FROM texts`

	selectGroups = `SELECT m.id, m.name, count(*) AS comments, max(c.created) AS latest
		FROM members m JOIN articles a ON a.member_id = m.id JOIN comments c ON c.article_id = a.id
		GROUP BY m.id ORDER BY m.id`

	selectComments = `SELECT m.id, m.name, a.id AS article_id, a.title, c.id AS comment_id, c.body
		FROM members m JOIN articles a ON a.member_id = m.id JOIN comments c ON c.article_id = a.id
		WHERE m.id = ? ORDER BY a.id, c.id`
)
