// Package backup copies a database while it is in use, and brings copies back.
//
// Take [To] unless you have a reason not to: it copies page by page from one snapshot, is the faster one, tells its
// progress, can be slowed down, and costs little memory. Take [VacuumInto] where the copy is to be small: it leaves out the space
// that deletions have left in the file, at the price of more processor time and of one long statement without progress or pace.
//
//	result, err := backup.To(ctx, db, "app.bak", nil)                        // a file that was not there before
//	result, err := backup.To(ctx, db, "app.bak", &backup.Options{Overwrite: true})
//	result, err := backup.VacuumInto(ctx, db, "app.small", nil)
//	result, err := backup.Write(ctx, db, response, nil)                      // an HTTP download, an upload
//	err = backup.Verify(ctx, "app.bak")
//	result, err := backup.Restore(ctx, db, "app.bak", nil)                   // into the database that is open
//	result, err := backup.RestoreFile(ctx, "app.bak", "app.db", nil)         // in the place of one that is not
//
// # What is promised
//
// A backup is a consistent, verified file, or it is not there. It holds exactly what was committed at one moment, the beginning of
// the call. It is written under a temporary name in the folder of the destination, checked on a fresh connection, flushed to
// disk, and only then given its name. After any failure (a full disk, a context that ended, an error or panic in Progress, a
// power cut) there is no file under that name, or the old one is as it was. A process that is killed leaves the temporary
// file: [LeftoverPattern] finds it.
//
// Without Options.Overwrite the name is given by a hard link, so that a file that came up meanwhile is not lost. A filesystem
// without hard links (FAT, some network and FUSE ones) gets a look and a rename instead, which leaves a gap of microseconds.
//
// The copy has the permissions of the source, and its journal mode: that of a database in WAL mode is in WAL mode too, and
// consists of one file. Whatever opens it with SQLite, even for reading, makes -wal and -shm files beside it; Verify, Restore
// and RestoreFile do not.
//
// # What a backup costs
//
// In WAL mode writers go on meanwhile, at three quarters of their speed or more on two processors, and see no error. (With a rollback journal every
// reader keeps writers from committing, so a copy does too.) But the snapshot pins the write-ahead log: what is written during the copy stays in it, so the log grows by all of it, and checkpoints wait until the copy is
// done. A copy at full speed takes seconds. One that is slowed down by Options.Pause or Options.BytesPerSecond takes as long as that says, and
// the log then needs disk space for everything written in that time: a copy of 10 GB at 10 MB/s takes 17 minutes, in which a service that writes 2 MB/s
// fills 2 GB of log. The log file shrinks again afterwards. The check and the streaming of [Write] come after the snapshot
// has been let go.
//
// Memory does not grow with the database: both ways work through page caches of fixed size, and VACUUM INTO sorts in temporary
// files (in SQLite's folder for them, TMPDIR or /var/tmp), not in memory.
//
// # What is refused
//
// The source itself, links to it and its side files can never be the destination ([ErrSame]). A file that exists is kept
// ([ErrExists]) unless Options.Overwrite, and then too if it is open somewhere or has a -wal or -journal with content beside it
// ([ErrInUse]): the new file would be read together with the log of the old one. That a database is open is told by SQLite's
// locks: connections in WAL mode hold one all the time. A connection of another process that uses a rollback journal holds none
// while it is idle, and is not noticed.
//
// No file that may be in use is ever opened by other means than SQLite: closing it would drop the locks of the process.
// https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
package backup
