package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// timeLayout sorts by name as by time, and is a file name on every system.
const timeLayout = "20060102T150405.000Z"

// A folder holds copies of one database: prefix, time and ".db".
type folder struct{ dir, prefix string }

// prefixOf returns what the copies of a database are called.
func prefixOf(database string) string {
	name := filepath.Base(database)
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-"
}

// saved is one copy.
type saved struct {
	path  string
	time  time.Time
	bytes int64
}

// path returns the name of a copy that is made now.
func (f folder) path(now time.Time) string {
	return filepath.Join(f.dir, f.prefix+now.UTC().Format(timeLayout)+".db")
}

// list returns the copies, newest first. Files with other names are none of its business. A folder that does not exist has no
// copies.
func (f folder) list() (copies []saved, err error) {
	entries, err := os.ReadDir(f.dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at, ok := f.timeOf(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if os.IsNotExist(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		copies = append(copies, saved{path: filepath.Join(f.dir, e.Name()), time: at, bytes: info.Size()})
	}
	slices.SortFunc(copies, func(a, b saved) int { return b.time.Compare(a.time) })
	return copies, nil
}

func (f folder) timeOf(name string) (time.Time, bool) {
	rest, ok := strings.CutPrefix(name, f.prefix)
	if !ok {
		return time.Time{}, false
	}
	rest, ok = strings.CutSuffix(rest, ".db")
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(timeLayout, rest)
	return at, err == nil
}
