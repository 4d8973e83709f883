package peers

import (
	"errors"
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"
)

// Create makes a database with the table of users, which is empty or has Rows rows, all in the database file itself.
func Create(path string, filled bool) error {
	return checkpointed(create(path, users(filled)))
}

// CreateLibrary makes the database of WorkMany, WorkGroup, WorkComments and WorkLarge.
func CreateLibrary(path string) error { return checkpointed(create(path, library)) }

func checkpointed(c *sqlite.Conn, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(zsqlitex.ExecuteTransient(c, truncate, nil), c.Close())
}

// CreateInWAL makes a database whose rows are all in the write-ahead log, and stay there until done is called: it keeps a
// connection, since the last one to close would copy them back. done tells if they did not stay.
func CreateInWAL(path string) (done func() error, err error) {
	c, err := create(path, users(true))
	if err != nil {
		return nil, err
	}
	return func() error {
		info, err := os.Stat(path) // must not be opened: that would drop the locks of c
		if err == nil && info.Size() > 64<<10 {
			err = fmt.Errorf("the rows were to stay in the write-ahead log, but the database file has %d bytes", info.Size())
		}
		return errors.Join(err, c.Close())
	}, nil
}

func users(filled bool) []string {
	if filled {
		return []string{schema, fill}
	}
	return []string{schema}
}

func create(path string, statements []string) (*sqlite.Conn, error) {
	c, err := openZombiezen(Spec{Path: path, KeepWAL: true})
	if err != nil {
		return nil, err
	}
	for _, sql := range statements {
		if err := zsqlitex.ExecuteTransient(c, sql, nil); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}
