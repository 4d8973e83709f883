package conn

import (
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// leftBehind reports whether err says that a process died in the middle of a transaction, which a connection that only reads
// cannot undo. It may be a false alarm: such a connection does not ask whether the process that has just begun to write its
// journal is still alive. https://www.sqlite.org/rescode.html#readonly_rollback
func leftBehind(err error) bool {
	failed := (*sqlerr.Error)(nil)
	return errors.As(err, &failed) && (failed.Code == sqlite.ResultReadOnlyRollback || failed.Code == sqlite.ResultReadOnlyRecovery)
}

// falseAlarms is how often in a row a handle that never writes takes the error for one: some ten milliseconds in all.
const falseAlarms = 10

// recover has SQLite undo what is left behind: a connection that may write does so when it first reads, which capi.Open lets
// it. What it answers counts as busy where trying again makes sense. err is the error that was met for the nth time.
func (cfg *Config) recover(err error, nth int) error {
	if !cfg.Recover && nth > falseAlarms {
		return err
	}
	if cfg.Recover {
		c, err := capi.Open(cfg.Path, sqlite.OpenReadWrite)
		if err != nil {
			return err
		}
		if cfg.KeepWAL {
			err = c.SkipCheckpointOnClose()
		}
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	return &sqlerr.Error{Code: sqlite.ResultBusyRecovery, Message: "another process left a transaction behind", Offset: -1, Cause: err}
}
