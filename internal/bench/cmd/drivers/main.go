// Drivers compares sanelite with other SQLite packages in queries of a program: many rows, a join, groups, large texts.
package main

import "github.com/sanelite/sanelite/internal/bench/suite"

func main() { suite.Main("drivers", suite.Drivers()) }
