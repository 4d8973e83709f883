package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// reading is a row of the file, and of the table.
type reading struct {
	ID      int64
	Station string
	At      time.Time
	Celsius float64
	Note    *string // an empty field is NULL
}

var header = []string{"id", "station", "at", "celsius", "note"}

// source reads a CSV file.
type source struct {
	file *os.File
	csv  *csv.Reader
	base int64 // offset in the file at which csv began
}

// newSource opens the file at an offset that an earlier run has reached, or at its beginning, where it checks the header.
func newSource(path string, offset int64) (*source, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	s, size, err := sourceAt(f, offset)
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return s, size, nil
}

func sourceAt(f *os.File, offset int64) (*source, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, err
	}
	s := &source{file: f, csv: csv.NewReader(bufio.NewReaderSize(f, 256<<10)), base: offset}
	s.csv.FieldsPerRecord, s.csv.ReuseRecord = len(header), true
	if offset > 0 {
		return s, info.Size(), nil
	}
	record, err := s.csv.Read()
	if err != nil {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	for i, name := range header {
		if record[i] != name {
			return nil, 0, fmt.Errorf("column %d is %q, want %q", i+1, record[i], name)
		}
	}
	return s, info.Size(), nil
}

// read appends rows until rows is full or the file ends.
func (s *source) read(rows []reading) ([]reading, error) {
	for len(rows) < cap(rows) {
		record, err := s.csv.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		r, err := parse(record)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// offset is the place in the file up to which it has been read.
func (s *source) offset() int64 { return s.base + s.csv.InputOffset() }

func (s *source) Close() error { return s.file.Close() }

func parse(record []string) (r reading, err error) {
	if r.ID, err = strconv.ParseInt(record[0], 10, 64); err != nil {
		return r, fmt.Errorf("id: %w", err)
	}
	r.Station = record[1]
	if r.At, err = time.Parse(time.RFC3339, record[2]); err != nil {
		return r, fmt.Errorf("at: %w", err)
	}
	if r.Celsius, err = strconv.ParseFloat(record[3], 64); err != nil {
		return r, fmt.Errorf("celsius: %w", err)
	}
	if note := record[4]; note != "" {
		r.Note = &note
	}
	return r, nil
}

// generate writes a file of n rows, the same ones every time.
func generate(ctx context.Context, path string, n int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := csv.NewWriter(f) // buffered
	if err := out.Write(header); err != nil {
		return err
	}
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		if i%10_000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		note := ""
		if i%50 == 7 {
			note = `sensor said "check me", again`
		}
		err := out.Write([]string{
			strconv.Itoa(i + 1),
			fmt.Sprintf("station-%03d", i%250),
			start.Add(time.Duration(i) * time.Second).Format(time.RFC3339),
			strconv.FormatFloat(float64(i*7919%4000-1000)/100, 'f', 2, 64),
			note,
		})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
