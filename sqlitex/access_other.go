//go:build !unix

package sqlitex

// accessible leaves it to SQLite to find out.
func accessible(string, Mode) error { return nil }
