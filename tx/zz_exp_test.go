package tx_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

func TestExpScript(t *testing.T) {
	db := dbtest.Open(t, nil, `CREATE TABLE p(id INTEGER PRIMARY KEY, n)`)
	for _, n := range []int{10000, 40000} {
		s := strings.Repeat("INSERT INTO p(n) VALUES ('some text of fifty bytes or so, for a row');\n", n)
		start := time.Now()
		err := db.Write(bg, func(w *tx.Writer) error { return w.Script(s) })
		fmt.Println(n, len(s), time.Since(start), err)
	}
}
