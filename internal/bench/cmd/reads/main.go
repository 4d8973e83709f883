// Reads compares how fast sanelite and other SQLite packages read.
package main

import "github.com/sanelite/sanelite/internal/bench/suite"

func main() { suite.Main("reads", suite.Reads()) }
