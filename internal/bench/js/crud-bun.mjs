// The service of examples/crud on Bun: Hono and bun:sqlite. Arguments: the database file and the port.
import { Database } from "bun:sqlite";
import { prepare, service } from "./crud-app.mjs";

const db = new Database(process.argv[2]);
const users = prepare(db);
const server = Bun.serve({ hostname: "127.0.0.1", port: Number(process.argv[3]), fetch: service(users).fetch });
console.log(JSON.stringify(users.info));

for (const signal of ["SIGINT", "SIGTERM"]) {
	process.once(signal, async () => {
		await server.stop();
		db.close();
		process.exit();
	});
}
