// The service of examples/crud once more, as one would write it with Hono: the same routes, checks, statements, settings and
// answers. crud-bun.mjs and crud-node.mjs bring the database and the server.
import { Hono } from "hono";

const maxBody = 64 << 10;
const defaultLimit = 20;
const maxLimit = 100;
const columns = "id, name, email, created_at, updated_at";

const schema = `CREATE TABLE users (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	name       TEXT NOT NULL,
	email      TEXT NOT NULL UNIQUE COLLATE NOCASE,
	created_at TEXT NOT NULL,
	updated_at TEXT NOT NULL
) STRICT`;

// prepare makes the settings, which are those of sanelite, and the table. It returns the statements, and the settings as they
// read back. db is a database of bun:sqlite or of better-sqlite3: what is used of them is the same in both.
export function prepare(db) {
	const pragma = (text) => Object.values(db.prepare("PRAGMA " + text).get() ?? {})[0];
	pragma("busy_timeout = 5000");
	pragma("journal_mode = WAL");
	for (const setting of ["synchronous = NORMAL", "foreign_keys = ON", "cache_size = -65536", "temp_store = MEMORY", "trusted_schema = OFF", "cell_size_check = ON"]) {
		db.exec("PRAGMA " + setting);
	}
	if (pragma("user_version") === 0) db.exec("BEGIN IMMEDIATE; " + schema + "; PRAGMA user_version = 1; COMMIT");

	const settings = {};
	for (const name of ["journal_mode", "synchronous", "busy_timeout", "foreign_keys", "temp_store"]) settings[name] = String(pragma(name));
	return {
		info: { sqlite: db.prepare("SELECT sqlite_version() AS v").get().v, settings },
		ping: db.prepare("SELECT 1"),
		get: db.prepare(`SELECT ${columns} FROM users WHERE id = ?`),
		page: db.prepare(`SELECT ${columns} FROM users WHERE id > ? ORDER BY id LIMIT ?`),
		create: db.prepare(`INSERT INTO users (name, email, created_at, updated_at) VALUES (?, ?, ?, ?) RETURNING ${columns}`),
		update: db.prepare(`UPDATE users SET name = ?, email = ?, updated_at = ? WHERE id = ? RETURNING ${columns}`),
		remove: db.prepare("DELETE FROM users WHERE id = ?"),
	};
}

export function service(users) {
	const app = new Hono();

	app.get("/health", (c) => {
		users.ping.get();
		return c.json({ status: "ok" });
	});

	app.get("/users", (c) => {
		const after = number(c.req.query("after"), 0, 0, "9223372036854775807");
		if (typeof after === "string") return invalidParameter(c, "after", after);
		const limit = number(c.req.query("limit"), defaultLimit, 1, maxLimit);
		if (typeof limit === "string") return invalidParameter(c, "limit", limit);
		const list = users.page.all(after, limit + 1);
		if (list.length <= limit) return c.json({ users: list });
		list.length = limit;
		return c.json({ users: list, next_after: list[limit - 1].id });
	});

	app.post("/users", async (c) => {
		const input = await read(c);
		if (input instanceof Response) return input;
		const now = new Date().toISOString();
		const user = users.create.get(input.name, input.email, now, now);
		c.header("Location", "/users/" + user.id);
		return c.json(user, 201);
	});

	app.get("/users/:id", (c) => {
		const user = users.get.get(pathID(c));
		return user ? c.json(user) : noSuchUser(c);
	});

	app.put("/users/:id", async (c) => {
		const id = pathID(c);
		if (id === 0) return noSuchUser(c);
		const input = await read(c);
		if (input instanceof Response) return input;
		const user = users.update.get(input.name, input.email, new Date().toISOString(), id);
		return user ? c.json(user) : noSuchUser(c);
	});

	app.delete("/users/:id", (c) => {
		const id = pathID(c);
		if (id === 0 || users.remove.run(id).changes === 0) return noSuchUser(c);
		return c.body(null, 204);
	});

	const allowed = { "/health": "GET, HEAD", "/users": "GET, HEAD, POST", "/users/:id": "GET, HEAD, PUT, DELETE" };
	for (const [path, allow] of Object.entries(allowed)) {
		app.all(path, (c) => {
			c.header("Allow", allow);
			return problem(c, 405, "method_not_allowed", "use one of " + allow);
		});
	}
	app.notFound((c) => problem(c, 404, "not_found", "there is nothing at this path"));
	app.onError(failed);
	return app;
}

function problem(c, status, code, message, fields) {
	return c.json({ error: { code, message, fields } }, status);
}

const noSuchUser = (c) => problem(c, 404, "not_found", "there is no such user");

const invalidParameter = (c, name, wrong) => problem(c, 400, "invalid_parameter", "a query parameter is not valid", { [name]: wrong });

// failed answers for what the database refused, and for what went wrong.
function failed(error, c) {
	const code = String(error.code);
	if (code === "SQLITE_CONSTRAINT_UNIQUE") {
		return problem(c, 409, "conflict", "another user has this email address", { email: "is taken" });
	}
	if (code.startsWith("SQLITE_BUSY")) {
		c.header("Retry-After", "1");
		return problem(c, 503, "busy", "the database is busy, try again");
	}
	if (code === "SQLITE_FULL") return problem(c, 507, "full", "there is no space left");
	console.error(error);
	return problem(c, 500, "internal", "something went wrong here");
}

// number answers with what is wrong, in words, where text is no number from low to high.
function number(text, absent, low, high) {
	if (!text) return absent;
	const n = Number(text);
	if (!/^[+-]?\d+$/.test(text) || n < low || n > Number(high)) return `must be a whole number from ${low} to ${high}`;
	return n;
}

// pathID is 0 where the path has nothing that could be an id.
function pathID(c) {
	const text = c.req.param("id");
	return /^\+?\d+$/.test(text) ? Number(text) : 0;
}

// read answers with the input, checked and tidied up, or with the answer that says what is wrong.
async function read(c) {
	const [type] = (c.req.header("Content-Type") ?? "").split(";", 1);
	if (type.trim().toLowerCase() !== "application/json") {
		return problem(c, 415, "unsupported_media_type", "Content-Type must be application/json");
	}
	const tooLarge = () => problem(c, 413, "too_large", `the body is larger than ${maxBody} bytes`);
	if (Number(c.req.header("Content-Length")) > maxBody) return tooLarge();
	const text = await c.req.text();
	if (text.length > maxBody || (text.length * 3 > maxBody && Buffer.byteLength(text) > maxBody)) return tooLarge();
	let input;
	try {
		input = known(JSON.parse(text));
	} catch (error) {
		return problem(c, 400, "malformed", "the body is not as expected: " + error.message);
	}
	const wrong = validate(input);
	return wrong ? problem(c, 422, "invalid", "the user is not valid", wrong) : input;
}

// known takes the fields that there are, and refuses others.
function known(value) {
	if (value !== null && (typeof value !== "object" || Array.isArray(value))) throw new Error("not an object");
	for (const key in value) {
		if (key !== "name" && key !== "email") throw new Error("unknown field " + key);
	}
	const name = value?.name ?? "";
	const email = value?.email ?? "";
	if (typeof name !== "string" || typeof email !== "string") throw new Error("not a string");
	return { name, email };
}

// An address as RFC 5322 has it, without the forms in quotes and brackets.
const atoms = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]+)*";
const address = new RegExp(`^${atoms}@${atoms}$`);

function validate(input) {
	input.name = input.name.trim();
	input.email = input.email.trim();
	const wrong = {};
	if (input.email === "") wrong.email = "is required";
	else if (Buffer.byteLength(input.email) > 254) wrong.email = "must not be longer than 254 bytes";
	else if (!address.test(input.email)) wrong.email = "must be an email address";
	if (input.name === "") wrong.name = "is required";
	else if (input.name.length > 100 && [...input.name].length > 100) wrong.name = "must not be longer than 100 characters";
	return wrong.name || wrong.email ? wrong : null;
}
