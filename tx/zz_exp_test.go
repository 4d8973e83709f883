package tx_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

var bg = context.Background()

func TestExpFKReturningScanError(t *testing.T) {
	db := dbtest.Open(t, nil, `CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p, s TEXT)`)
	err := db.Write(bg, func(w *tx.Writer) error {
		_, err := tx.One[int64](w, `INSERT INTO c(p,s) VALUES (99,'x'),(98,'y') RETURNING s`)
		fmt.Println("one", err)
		_, err = tx.All[int64](w, `INSERT INTO c(p,s) VALUES (99,'x'),(98,'y') RETURNING s`)
		fmt.Println("all", err)
		func() {
			defer func() { recover() }()
			_, err = tx.All[panicScan](w, `INSERT INTO c(p,s) VALUES (99,'x'),(98,'y') RETURNING s`)
		}()
		return nil
	})
	fmt.Println("write", err)
}

type panicScan struct{}

func (*panicScan) Scan(any) error { panic("scan") }

func TestExpSavepointInReturning(t *testing.T) {
	db := dbtest.Open(t, nil, `CREATE TABLE p(id INTEGER PRIMARY KEY)`)
	err := db.Write(bg, func(w *tx.Writer) error {
		for id, err := range tx.Each[int64](w, `INSERT INTO p VALUES (1),(2) RETURNING id`) {
			fmt.Println(id, err)
			fmt.Println(w.Savepoint(func(w *tx.Writer) error { return nil }))
		}
		return nil
	})
	fmt.Println("write", err)
}

func TestExpUpsert(t *testing.T) {
	db := dbtest.Open(t, nil, `CREATE TABLE p(id INTEGER PRIMARY KEY, n UNIQUE)`)
	_ = db.Write(bg, func(w *tx.Writer) error {
		fmt.Println(w.Exec(`INSERT INTO p(id,n) VALUES (1,1)`))
		fmt.Println(w.Exec(`INSERT INTO p(id,n) VALUES (7,7)`))
		fmt.Println(w.Exec(`INSERT INTO p(n) VALUES (1) ON CONFLICT DO UPDATE SET n=n`))
		fmt.Println(w.Exec(`EXPLAIN INSERT INTO p(n) VALUES (55)`))
		fmt.Println(w.Exec(`WITH x AS (SELECT 1) INSERT INTO p(n) VALUES (56)`))
		return nil
	})
}

func TestExpScript(t *testing.T) {
	db := dbtest.Open(t, nil, `CREATE TABLE p(id INTEGER PRIMARY KEY, n)`)
	for _, n := range []int{1000, 10000, 20000} {
		s := strings.Repeat("INSERT INTO p(n) VALUES ('some text of fifty bytes or so, for a row');\n", n)
		start := time.Now()
		err := db.Write(bg, func(w *tx.Writer) error { return w.Script(s) })
		fmt.Println(n, len(s), time.Since(start), err)
	}
}

var _ = errors.New
