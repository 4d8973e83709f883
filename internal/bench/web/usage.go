package web

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Figures that sides have beside speed and latency.
const (
	FigureErrors  = "errors"
	FigureBusy    = "SQLITE_BUSY"               // answers 503
	FigureCPU     = "service, CPU µs/request"   // processor time, of all its threads
	FigureRSS     = "peak RSS, MB"              // of the service, since it was started
	FigureClients = "clients, % of a processor" // how busy the load generator is
)

// tick is the unit of times in /proc, which Linux fixes for programs at a hundredth of a second.
const tick = 10 * time.Millisecond

// processTime is how much processor time a process has taken.
func processTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // a name may have blanks; what follows is the third field
	if len(fields) < 13 {
		return 0, errors.New("/proc: a line of stat is too short")
	}
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// peakRSS is the most memory that a process has had, in bytes.
func peakRSS(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, found := bytes.CutPrefix(line, []byte("VmHWM:")); found {
			kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc: no VmHWM")
}
