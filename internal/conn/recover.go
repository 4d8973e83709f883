package conn

import (
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// mayRecover reports whether err says that a process died in the middle of a transaction, which a connection that only reads
// cannot undo. https://www.sqlite.org/rescode.html#readonly_rollback, https://www.sqlite.org/rescode.html#readonly_recovery
func (cfg *Config) mayRecover(err error) bool {
	failed := (*sqlerr.Error)(nil)
	return cfg.Recover && errors.As(err, &failed) &&
		(failed.Code == sqlite.ResultReadOnlyRollback || failed.Code == sqlite.ResultReadOnlyRecovery)
}

// recover has SQLite undo it: any connection that may write does so when it first reads, which capi.Open lets it.
func (cfg *Config) recover() error {
	c, err := capi.Open(cfg.Path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	if cfg.KeepWAL {
		err = c.SkipCheckpointOnClose()
	}
	return errors.Join(err, c.Close())
}
