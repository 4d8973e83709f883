package apps

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// migrate brings the schema up to date. It runs at every open, and writes only where there is something to do.
func migrate(ctx context.Context, db *sqlitex.DB, migrations []string) error {
	return db.Write(ctx, func(w *tx.Writer) error {
		version, err := tx.One[int](w, `PRAGMA user_version`)
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("the database has schema version %d, this program knows %d", version, len(migrations))
		}
		if version == len(migrations) {
			return nil
		}
		for ; version < len(migrations); version++ {
			if err := w.Script(migrations[version]); err != nil {
				return err
			}
		}
		return w.Script(`PRAGMA user_version = ` + strconv.Itoa(version)) // a pragma takes no parameters
	})
}
