// Writes compares how fast sanelite and other SQLite packages write.
package main

import "github.com/sanelite/sanelite/internal/bench/suite"

func main() { suite.Main("writes", suite.Writes()) }
