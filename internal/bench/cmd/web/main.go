// Web compares services over HTTP: the examples of this repository, and the same services on Bun and Node.js.
package main

import "github.com/sanelite/sanelite/internal/bench/suite"

func main() { suite.Main("web", suite.Web()) }
