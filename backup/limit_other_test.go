//go:build !unix

package backup_test

import "errors"

func limitFiles(uint64) error { return errors.ErrUnsupported }
