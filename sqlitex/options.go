package sqlitex

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"runtime"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/pragma"
)

// Mode says what Open may do with the file.
type Mode int

const (
	ReadWriteCreate Mode = iota // read and write; create the file if there is none
	ReadWrite                   // read and write; a missing file is an error
	ReadOnly                    // never change nor create the file; Write answers ErrReadOnly
)

// Checkpoints says who copies the write-ahead log back into the database.
type Checkpoints int

const (
	CheckpointsAuto     Checkpoints = iota // this handle does, in the background, whenever the log has grown by WALAutoCheckpoint
	CheckpointsExternal                    // another program, such as Litestream; this handle never does, not even at Close
	CheckpointsManual                      // DB.Checkpoint, and the last Close
)

// Options configure a handle. A nil *Options and every zero field mean the defaults, which are made for production.
type Options struct {
	// Mode says what Open may do with the file. Default: ReadWriteCreate.
	Mode Mode

	// Pragmas are given to every connection, read back and verified. Default: the zero pragma.Config, that is WAL, NORMAL,
	// foreign keys on and more.
	Pragmas pragma.Config

	// CacheSize is the page cache of the whole handle in bytes, split evenly over the writer and MaxReaders readers; it is
	// filled only as pages are used. Pragmas.CacheSize, where set, is per connection and goes first. Negative: SQLite's own
	// 2 MB per connection. Default: 64 MiB.
	CacheSize pragma.Size

	// BusyTimeout bounds every wait: for the writer, for a reader, for a lock of another connection or process. It counts
	// whole milliseconds. Negative: only the context bounds. Default: 5 seconds, or Pragmas.BusyTimeout where that is positive.
	BusyTimeout time.Duration

	// MaxReaders is the number of connections that may read at once; they are opened when needed. Default: the number
	// of processors that Go uses, at least 4.
	MaxReaders int

	// ReaderIdle is the time after which a reader that nobody uses is closed. Negative: never. Default: 5 minutes.
	ReaderIdle time.Duration

	// MaxStatements bounds the prepared statements that each connection keeps. Negative: none are kept. Default: 256.
	MaxStatements int

	// FileMode is the permission of a new database; SQLite gives its side files the same. It is not reduced by the umask.
	// Default: 0, which leaves it to SQLite (0644) and the umask.
	FileMode fs.FileMode

	// Setup is called once for every connection that is opened, to register functions and collations, or to attach
	// databases. The pragmas are set before it; it must leave them and no open transaction. Default: nil.
	Setup func(ctx context.Context, conn *sqlite.Conn) error

	// AllowNetworkFS opens files on NFS, SMB and AFS too, whose locks and shared memory cannot be trusted to keep the
	// database whole. Default: false, such files are refused with ErrNetworkFilesystem.
	AllowNetworkFS bool

	// Checkpoints says who copies the write-ahead log back. Default: CheckpointsAuto.
	Checkpoints Checkpoints

	// Logger gets what happens in the background, and SQLite's own error log, which is one for all databases of the process.
	// Default: nil, silent.
	Logger *slog.Logger
}

// Defaults, each with its reason.
const (
	defaultCacheSize     = 64 * pragma.MiB  // the inner pages of the indexes of some ten gigabytes
	defaultBusyTimeout   = 5 * time.Second  // longer than any sensible transaction, shorter than a user's patience
	minDefaultReaders    = 4                // readers also wait for the disk, not only for a processor
	defaultReaderIdle    = 5 * time.Minute  // a cache that cold is worth less than its memory
	defaultMaxStatements = 256              // more than most services have; each is some kilobytes
	smallestCacheSize    = 256 * pragma.KiB // per connection; below that SQLite reads inner pages again and again
)

// resolved returns o with every default filled in.
func (o *Options) resolved() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Mode < ReadWriteCreate || r.Mode > ReadOnly {
		return r, fmt.Errorf("sqlite: unknown Mode %d", r.Mode)
	}
	if r.Checkpoints < CheckpointsAuto || r.Checkpoints > CheckpointsManual {
		return r, fmt.Errorf("sqlite: unknown Checkpoints %d", r.Checkpoints)
	}
	if r.FileMode&^fs.ModePerm != 0 {
		return r, fmt.Errorf("sqlite: FileMode %v has more than permission bits", r.FileMode)
	}
	if r.MaxReaders < 0 {
		return r, fmt.Errorf("sqlite: MaxReaders %d is negative", r.MaxReaders)
	}
	setDefault(&r.MaxReaders, max(minDefaultReaders, runtime.GOMAXPROCS(0)))
	setDefault(&r.ReaderIdle, defaultReaderIdle)
	setDefault(&r.MaxStatements, defaultMaxStatements)
	setDefault(&r.CacheSize, defaultCacheSize)
	setDefault(&r.BusyTimeout, max(0, r.Pragmas.BusyTimeout)) // where SQLite is not to wait, this still may
	setDefault(&r.BusyTimeout, defaultBusyTimeout)
	r.BusyTimeout = wholeMilliseconds(r.BusyTimeout)
	setDefault(&r.Pragmas.BusyTimeout, r.BusyTimeout)
	r.Pragmas.BusyTimeout = wholeMilliseconds(r.Pragmas.BusyTimeout)
	if r.Pragmas.CacheSize == 0 {
		r.Pragmas.CacheSize = r.CacheSize
		if r.CacheSize > 0 {
			r.Pragmas.CacheSize = max(smallestCacheSize, r.CacheSize/pragma.Size(r.MaxReaders+1))
		}
	}
	if r.Checkpoints != CheckpointsAuto {
		r.Pragmas.WALAutoCheckpoint = -1
	}
	return r, r.Pragmas.Validate()
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// wholeMilliseconds rounds up to what SQLite can count, and down to what it can hold.
func wholeMilliseconds(d time.Duration) time.Duration {
	if d < 0 {
		return -1
	}
	const most = math.MaxInt32 * time.Millisecond
	return min(most, (d + time.Millisecond - 1).Truncate(time.Millisecond))
}
