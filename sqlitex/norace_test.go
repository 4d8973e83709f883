//go:build !race

package sqlitex_test

// underRace says that everything takes twenty times as long.
const underRace = false
