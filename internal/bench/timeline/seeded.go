package timeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sanelite/sanelite/examples/chirp/social"
)

// Copy copies the seeded network to path. It is seeded once, which takes half a minute, and kept in the user's cache.
func Copy(path string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	s := social.DefaultSizes
	dir := filepath.Join(cache, "sanelite-bench")
	seeded := filepath.Join(dir, fmt.Sprintf("chirp-%d-%d-%d-%d-%d.db", s.Users, s.Posts, s.Follows, s.Likes, s.Seed))
	if _, err := os.Stat(seeded); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "seeding %s, once\n", seeded)
		if err := social.Seed(context.Background(), seeded, s, nil); err != nil {
			return err
		}
	}
	from, err := os.Open(seeded) // nobody has it open as a database
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(err, to.Close())
	}
	return to.Close()
}
