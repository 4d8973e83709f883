// The service of examples/crud on Node.js: Hono, its server for Node.js, and better-sqlite3. Arguments: the database file and the
// port.
import { serve } from "@hono/node-server";
import Database from "better-sqlite3";
import { prepare, service } from "./crud-app.mjs";

const db = new Database(process.argv[2]);
const users = prepare(db);
const server = serve({ hostname: "127.0.0.1", port: Number(process.argv[3]), fetch: service(users).fetch }, () => {
	console.log(JSON.stringify(users.info));
});

for (const signal of ["SIGINT", "SIGTERM"]) {
	process.once(signal, () => {
		server.close(() => db.close());
		server.closeIdleConnections();
	});
}
