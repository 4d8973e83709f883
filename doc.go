// Package sanelite is a map of the module; it holds no code.
package sanelite
