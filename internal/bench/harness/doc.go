// Package harness measures several implementations of the same work against each other.
//
// A Workload has sides. All sides start, each is warmed up, and then in every round each side runs once for the same time, in an
// order that rotates from round to round, so that a machine that gets slower or busier does so for all of them. What is printed
// is the median over the rounds, and the ratio of two sides as the median of the ratios within each round.
//
// Sides run in processes of their own, see Command and Serve. That is not for neatness: two copies of SQLite in one process that
// open the same file drop each other's locks (https://www.sqlite.org/howtocorrupt.html, section 2.2.1), and package modernc.org/sqlite
// has one page cache per process, which a library may replace for all.
//
// The process of a side answers lines. At its start it writes an Info, as one line of JSON, on its standard output. From then on
// it reads a number of milliseconds per line from its standard input, runs for that long, and answers with a Sample. It ends when
// its input does.
package harness
