// Timeline measures the social network of examples/chirp.
package main

import "github.com/sanelite/sanelite/internal/bench/suite"

func main() { suite.Main("timeline", suite.Timeline()) }
