package pragma_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sanelite/sanelite/pragma"

	"zombiezen.com/go/sqlite"
)

func ExampleDefault() {
	cfg := pragma.Default()
	fmt.Println(cfg.JournalMode, cfg.Synchronous, cfg.BusyTimeout, cfg.ForeignKeys, cfg.CacheSize)
	// Output: wal normal 5s on 16 MiB
}

func ExampleDurable() {
	cfg := pragma.Durable()
	fmt.Println(cfg.JournalMode, cfg.Synchronous)
	// Output: wal full
}

func ExampleRollbackFull() {
	cfg := pragma.RollbackFull()
	fmt.Println(cfg.JournalMode, cfg.Synchronous)
	// Output: delete full
}

func ExampleNoSync() {
	cfg := pragma.NoSync()
	fmt.Println(cfg.JournalMode, cfg.Synchronous)
	// Output: wal off
}

func ExampleConfig_Validate() {
	fmt.Println(pragma.Config{PageSize: 5000}.Validate())
	// Output: pragma: Config.PageSize: 5000 B is not a power of two from 512 to 65536
}

func ExampleConfig_WithDefaults() {
	cfg := pragma.Config{CacheSize: 256 * pragma.MiB}.WithDefaults()
	fmt.Println(cfg.CacheSize, cfg.TempStore, cfg.JournalSizeLimit)
	// Output: 256 MiB memory 64 MiB
}

func ExampleApply() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	conn, err := sqlite.OpenConn(filepath.Join(dir, "app.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	// What is not named keeps its production default.
	if err := pragma.Apply(conn, pragma.Config{Synchronous: pragma.SyncFull, PageSize: 8 * pragma.KiB}); err != nil {
		log.Fatal(err)
	}

	// A page size is for new databases. This one exists now, and says so.
	fmt.Println(pragma.Apply(conn, pragma.Config{PageSize: 4 * pragma.KiB}))
	// Output: pragma page_size: wanted 4096, got 8192
}

func ExampleApplyReader() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.db")
	writer, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		log.Fatal(err)
	}
	defer writer.Close()
	if err := pragma.Apply(writer, pragma.Config{}); err != nil {
		log.Fatal(err)
	}

	reader, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	if err := pragma.ApplyReader(reader, pragma.Config{CacheSize: 4 * pragma.MiB}); err != nil {
		log.Fatal(err)
	}
	got, err := pragma.Read(reader)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.JournalMode, got.CacheSize, got.ForeignKeys)
	// Output: wal 4 MiB on
}

func ExampleRead() {
	conn, err := sqlite.OpenConn(":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	// What SQLite starts with, before anything is applied.
	got, err := pragma.Read(conn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.JournalMode, got.Synchronous, got.ForeignKeys, got.CacheSize)
	// Output: memory full off 2000 KiB
}
