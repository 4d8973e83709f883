// Package servers compares this library with PostgreSQL and MariaDB on the same machine: the same table, the same statements, each
// through the driver that Go programs use.
//
// The benchmark makes a data folder of its own for each server, starts it on a free port of 127.0.0.1 with its default settings, and
// stops it at the end. The packages' own services are not touched.
package servers
