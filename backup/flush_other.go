//go:build !linux

package backup

import "os"

func writeSoon(*os.File, int64, int64) {}
