//go:build !unix

package backup_test

import "errors"

func limitFiles(uint64) (unlimited func(), err error) { return nil, errors.ErrUnsupported }
