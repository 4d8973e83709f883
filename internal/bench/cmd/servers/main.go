// Servers compares sanelite with PostgreSQL and MariaDB on the same machine.
package main

import "github.com/sanelite/sanelite/internal/bench/suite"

func main() { suite.Main("servers", suite.Servers()) }
