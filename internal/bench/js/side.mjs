// The sides in JavaScript: bun:sqlite where Bun runs this, better-sqlite3 elsewhere. See package harness for what is read and
// written, and package peers for the statements, which are the same there.
import { createInterface } from "node:readline";

const rows = 50000;
const bulkRows = 50000;
const select = "SELECT id, name, email, created FROM users";
const insert = "INSERT INTO users (name, email, created) VALUES (?, ?, ?)";

// queries answer with all their rows; good looks at some of them, where id is the parameter.
const queries = {
	all: {
		sql: select,
		rows,
		good: (found) => found[0].name === "user1" && found[rows - 1].created === rows,
	},
	many: {
		sql: "SELECT id, kind, body, created FROM events",
		rows: 100000,
		good: (found) => found[0].body === "event number 1" && found[99999].id === 100000,
	},
	group: {
		sql: `SELECT m.id, m.name, count(*) AS comments, max(c.created) AS latest
			FROM members m JOIN articles a ON a.member_id = m.id JOIN comments c ON c.article_id = a.id
			GROUP BY m.id ORDER BY m.id`,
		rows: 200,
		good: (found) => found[0].name === "member1" && found[199].comments === 400,
	},
	comments: {
		sql: `SELECT m.id, m.name, a.id AS article_id, a.title, c.id AS comment_id, c.body
			FROM members m JOIN articles a ON a.member_id = m.id JOIN comments c ON c.article_id = a.id
			WHERE m.id = ? ORDER BY a.id, c.id`,
		rows: 400,
		arg: (i) => ((i * 37) % 200) + 1,
		good: (found, id) => found[0].id === id && found[399].article_id === id * 20 && found[0].body.startsWith("comment "),
	},
	large: {
		sql: "SELECT id, body FROM texts",
		rows: 100,
		good: (found) => found[0].body.startsWith("000001") && found[99].body.length === 200000,
	},
};

const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");

function check(good) {
	if (!good) throw new Error("a wrong row");
}

// Each returns a function that does one piece of work, how many operations that is, and how many pieces go by between two looks
// at the clock.
const works = {
	row(db) {
		const stmt = db.prepare(select + " WHERE id = ?");
		return [
			(i) => {
				const id = ((i * 31337) % rows) + 1;
				check(stmt.get(id).id === id);
			},
			1,
			64,
		];
	},
	insert(db) {
		const stmt = db.prepare(insert);
		return [(i) => void stmt.run("ann", "ann@example.com", i), 1, 4];
	},
	bulk(db) {
		const stmt = db.prepare(insert);
		const write = db.transaction(() => {
			for (let i = 0; i < bulkRows; i++) stmt.run("ann", "ann@example.com", i);
		});
		return [() => write.immediate(), bulkRows, 1];
	},
};

function read(db, query) {
	const stmt = db.prepare(query.sql);
	return [
		(i) => {
			const args = query.arg ? [query.arg(i)] : [];
			const found = stmt.all(...args);
			check(found.length === query.rows && query.good(found, args[0]));
		},
		1,
		1,
	];
}

function open(Database, spec) {
	const db = new Database(spec.path);
	const pragma = (text) => {
		const stmt = db.prepare("PRAGMA " + text);
		return Object.values(stmt.get() ?? {})[0];
	};
	pragma("busy_timeout = 5000");
	pragma("journal_mode = WAL");
	db.exec("PRAGMA synchronous = " + (spec.full ? "FULL" : "NORMAL"));
	db.exec("PRAGMA cache_size = -16384");
	db.exec("PRAGMA mmap_size = " + (spec.mmap ?? 0));
	const settings = {};
	for (const name of ["journal_mode", "synchronous", "cache_size", "mmap_size"]) settings[name] = String(pragma(name) ?? 0);
	const sqlite = db.prepare("SELECT sqlite_version() AS version").get().version;
	return [db, { sqlite, settings }];
}

let db, info, work, operations, batch, spec;
try {
	spec = JSON.parse(process.argv[2]);
	const Database = globalThis.Bun ? (await import("bun:sqlite")).Database : (await import("better-sqlite3")).default;
	[db, info] = open(Database, spec);
	const query = queries[spec.work];
	[work, operations, batch] = query ? read(db, query) : works[spec.work](db);
} catch (e) {
	answer({ error: String(e) });
	process.exit();
}
answer(info);

let next = 0;

function run(ms) {
	if (spec.work === "insert" || spec.work === "bulk") {
		db.exec("DELETE FROM users");
		db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
	}
	let i = next;
	const begin = performance.now();
	let now = begin;
	do {
		for (let n = 0; n < batch; n++) work(i++);
		now = performance.now();
	} while (now - begin < ms);
	const ops = (i - next) * operations;
	next = i % rows;
	return { ops, ns: Math.round((now - begin) * 1e6) };
}

for await (const line of createInterface({ input: process.stdin })) {
	try {
		answer(run(Number(line)));
	} catch (e) {
		answer({ error: String(e) });
	}
}
db.close();
