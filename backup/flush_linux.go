package backup

import (
	"os"
	"syscall"
)

const syncFileRangeWrite = 2 // SYNC_FILE_RANGE_WRITE of sync_file_range(2)

// writeSoon has the system begin to write a part of a file to the disk, without waiting for it. The final flush then has little
// left to do, and others who flush do not meet hundreds of megabytes of ours. An error shows again at the final flush.
func writeSoon(f *os.File, from, n int64) {
	_ = syscall.SyncFileRange(int(f.Fd()), from, n, syncFileRangeWrite)
}
