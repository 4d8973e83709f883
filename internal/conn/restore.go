package conn

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

// Restore brings the connection back to its configured state after user code had it: statements reset, transaction rolled
// back, temporary objects dropped, foreign databases detached, pragmas set again. The first error is for the one who left
// it so; whole is false where the connection could not be restored and must be replaced.
func (c *Conn) Restore() (report error, whole bool) {
	c.lent = true
	c.ClearContext()
	if !c.alive() {
		c.tainted = true
		return sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: the connection was closed by the function that it was lent to"), false
	}
	c.ResetStrays()
	if !c.Autocommit() {
		c.Rollback()
		report = sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: a transaction was left open on the connection and has been rolled back")
	}
	if !c.Autocommit() || c.InTransaction() {
		c.tainted = true
		return sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: the connection was left with an open transaction or backup"), false
	}
	c.ArmProgressHandler()
	whole = c.restoreState() == nil
	c.tainted = c.tainted || !whole
	return report, whole
}

// alive cuts the connection off from the channel that user code may interrupt it by, which is impossible on one that was closed.
func (c *Conn) alive() (alive bool) {
	defer func() { alive = recover() == nil }()
	c.Zombie().SetInterrupt(nil)
	return true
}

func (c *Conn) restoreState() error {
	c.restoreLimits() // first: they bound what follows as well
	if err := c.detachOthers(); err != nil {
		return err
	}
	if err := c.dropTemporary(); err != nil {
		return err
	}
	if err := c.restorePragmas(); err != nil {
		return err
	}
	return c.restoreOthers()
}

func (c *Conn) restorePragmas() error {
	now, err := pragma.Read(c.Zombie())
	if err != nil || now == c.pragmas {
		return err
	}
	apply := pragma.Apply
	if c.cfg.readOnly() {
		apply = pragma.ApplyReader
	}
	if err := apply(c.Zombie(), c.pragmas); err != nil {
		return err
	}
	if now, err = pragma.Read(c.Zombie()); err == nil && now != c.pragmas {
		err = sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: pragmas differ: %s", difference(c.pragmas, now))
	}
	return err
}

func (c *Conn) detachOthers() error {
	same, err := c.sameDatabases()
	if err != nil || same {
		return err
	}
	now, err := c.attached()
	if err != nil {
		return err
	}
	known := strings.Join(c.databases, "\x01") + "\x01"
	for _, db := range now {
		name, _, _ := strings.Cut(db, "\x00")
		if !strings.Contains(known, db+"\x01") {
			if err := c.RunOnce("DETACH " + quote(name)); err != nil {
				return err
			}
		}
	}
	if same, err = c.sameDatabases(); err == nil && !same {
		err = sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: a database of Setup was detached")
	}
	return err
}

// ForgetTemporary drops temporary objects if any may have been made since it was called last. A failure makes the
// connection Broken: it is no reason to call a commit failed.
func (c *Conn) ForgetTemporary() {
	if c.Created && c.dropTemporary() != nil {
		c.tainted = true
	}
}

// noteTemporary remembers the temporary objects that Setup has made: they belong to the connection.
func (c *Conn) noteTemporary() error {
	c.setUp = map[string]bool{}
	return c.eachRow("SELECT name FROM temp.sqlite_schema", func(s *capi.Stmt) { c.setUp[string(s.ColumnText(0))] = true })
}

// dropTemporary drops the temporary objects of the connection but for those of Setup: they must not be seen by the next caller, whose names they
// would shadow. Triggers and views go first, since dropping a table drops its indexes and triggers with it.
func (c *Conn) dropTemporary() (err error) {
	c.Created = false
	enforced := c.pragmas.ForeignKeys == pragma.On
	for _, kind := range []string{"trigger", "view", "table"} {
		var names []string
		err := c.eachRow("SELECT name FROM temp.sqlite_schema WHERE type = '"+kind+"' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
			func(s *capi.Stmt) {
				if name := string(s.ColumnText(0)); !c.setUp[name] {
					names = append(names, name)
				}
			})
		if err != nil {
			return err
		}
		if kind == "table" && len(names) > 0 && enforced { // dropping a table deletes its rows, to which others may refer
			if err := c.RunOnce("PRAGMA foreign_keys = 0"); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.RunOnce("PRAGMA foreign_keys = 1")) }()
		}
		for _, name := range names {
			if err := c.RunOnce("DROP " + strings.ToUpper(kind) + " IF EXISTS temp." + quote(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// quote makes an SQL identifier of name. https://www.sqlite.org/lang_keywords.html
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// difference names the fields in which two configurations differ.
func difference(want, got pragma.Config) string {
	var parts []string
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		if a, b := w.Field(i).Interface(), g.Field(i).Interface(); a != b {
			parts = append(parts, fmt.Sprintf("%s: wanted %v, got %v", w.Type().Field(i).Name, a, b))
		}
	}
	return strings.Join(parts, "; ")
}
