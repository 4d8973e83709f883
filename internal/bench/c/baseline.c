/*
** One row by key in C: what SQLite itself takes, with nothing around it. The statement is prepared once; every read is a
** transaction of its own. See package harness for what is read and written.
**
** Usage: baseline path synchronous cache-in-KiB
*/
#include "sqlite3-binding.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 50000

struct user {
	sqlite3_int64 id;
	char name[32];
	char email[64];
	sqlite3_int64 created;
};

static void give_up(sqlite3 *db) {
	printf("{\"error\":\"%s\"}\n", sqlite3_errmsg(db));
	exit(0);
}

static void pragma(sqlite3 *db, const char *name, const char *value) {
	char *sql = sqlite3_mprintf("PRAGMA %s = %s", name, value);
	if (sqlite3_exec(db, sql, 0, 0, 0) != SQLITE_OK) give_up(db);
	sqlite3_free(sql);
}

static void print_settings(sqlite3 *db) {
	static const char *const names[] = {"journal_mode", "synchronous", "cache_size", "mmap_size"};
	printf("{\"sqlite\":\"%s\",\"settings\":{", sqlite3_libversion());
	for (int i = 0; i < 4; i++) {
		sqlite3_stmt *stmt = 0;
		char *sql = sqlite3_mprintf("PRAGMA %s", names[i]);
		if (sqlite3_prepare_v2(db, sql, -1, &stmt, 0) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW) give_up(db);
		printf("%s\"%s\":\"%s\"", i ? "," : "", names[i], sqlite3_column_text(stmt, 0));
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
	printf("}}\n");
}

static void copy_text(char *to, size_t size, sqlite3_stmt *stmt, int column) {
	const unsigned char *text = sqlite3_column_text(stmt, column);
	size_t n = sqlite3_column_bytes(stmt, column);
	if (n >= size) n = size - 1;
	memcpy(to, text, n);
	to[n] = 0;
}

static int read_user(sqlite3_stmt *stmt, sqlite3_int64 id, struct user *u) {
	sqlite3_bind_int64(stmt, 1, id);
	if (sqlite3_step(stmt) != SQLITE_ROW) return 0;
	u->id = sqlite3_column_int64(stmt, 0);
	copy_text(u->name, sizeof u->name, stmt, 1);
	copy_text(u->email, sizeof u->email, stmt, 2);
	u->created = sqlite3_column_int64(stmt, 3);
	return sqlite3_reset(stmt) == SQLITE_OK && u->id == id;
}

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
	sqlite3 *db = 0;
	sqlite3_stmt *stmt = 0;
	char cache[32], line[64];
	long long next = 0;
	if (argc != 4) return 2;
	setvbuf(stdout, 0, _IOLBF, 0);
	if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, 0) != SQLITE_OK) give_up(db);
	snprintf(cache, sizeof cache, "-%s", argv[3]);
	pragma(db, "busy_timeout", "5000");
	pragma(db, "journal_mode", "WAL");
	pragma(db, "synchronous", argv[2]);
	pragma(db, "cache_size", cache);
	pragma(db, "mmap_size", "0");
	if (sqlite3_prepare_v2(db, "SELECT id, name, email, created FROM users WHERE id = ?", -1, &stmt, 0) != SQLITE_OK) give_up(db);
	print_settings(db);
	while (fgets(line, sizeof line, stdin)) {
		long long begin = now(), end = begin + atoll(line) * 1000000LL, t, first = next;
		do {
			for (int n = 0; n < 64; n++) {
				struct user u;
				if (!read_user(stmt, next % ROWS * 31337 % ROWS + 1, &u)) give_up(db);
				next++;
			}
			t = now();
		} while (t < end);
		printf("{\"ops\":%lld,\"ns\":%lld}\n", next - first, t - begin);
	}
	sqlite3_finalize(stmt);
	return sqlite3_close(db);
}
