package benchcli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"example.com/connwise/bench"
	"example.com/connwise/internal/benchhtml"
	"example.com/connwise/internal/cli"
)

// A reportFile is a file that a report goes to. It is opened before the run, which would be for
// nothing if it couldn't be written afterwards; what it had in it stays there until then.
type reportFile struct {
	flag    string
	file    *os.File
	created bool // by this run
	write   func(bench.Report, io.Writer) error
}

// reportFiles opens those that have a name. The error is a *cli.UsageError.
func reportFiles(out output) (files []*reportFile, err error) {
	for _, w := range []struct {
		flag, name string
		write      func(bench.Report, io.Writer) error
	}{
		{"out", out.jsonFile, bench.Report.WriteJSON},
		{"html", out.htmlFile, func(r bench.Report, w io.Writer) error { return benchhtml.Write(w, r) }},
	} {
		if w.name == "" {
			continue
		}
		if w.name == "-" {
			discard(files)
			return nil, cli.Usagef("--%s wants a file; --json prints JSON to standard output", w.flag)
		}
		f, err := openReport(w.flag, w.name)
		if err == nil {
			f.write = w.write
			files = append(files, f)
			err = distinct(files)
		}
		if err != nil {
			discard(files)
			return nil, err
		}
	}
	return files, nil
}

func openReport(flag, name string) (*reportFile, error) {
	f := &reportFile{flag: flag, created: true}
	var err error
	f.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		f.created = false
		f.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, cli.Usagef("--%s: %v", flag, err)
	}
	return f, nil
}

// distinct refuses one file for two reports. A device may take both.
func distinct(files []*reportFile) error {
	last := files[len(files)-1]
	is, err := last.file.Stat()
	if err != nil || !is.Mode().IsRegular() {
		return nil
	}
	for _, f := range files[:len(files)-1] {
		if was, err := f.file.Stat(); err == nil && os.SameFile(was, is) {
			return cli.Usagef("--%s and --%s are the same file: %s", f.flag, last.flag, last.file.Name())
		}
	}
	return nil
}

// save writes the report in place of what the file had, and closes it.
func (f *reportFile) save(rep bench.Report) error {
	var b bytes.Buffer
	err := f.write(rep, &b)
	if err == nil {
		err = f.replace(b.Bytes())
	}
	if cerr := f.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("bench: --%s: %w", f.flag, err)
	}
	return nil
}

func (f *reportFile) replace(text []byte) error {
	if is, err := f.file.Stat(); err == nil && is.Mode().IsRegular() {
		if err := f.file.Truncate(0); err != nil {
			return err
		}
	}
	_, err := f.file.Write(text)
	return err
}

// discard closes files of a run that has nothing to report.
func discard(files []*reportFile) {
	for _, f := range files {
		_ = f.file.Close() // nothing was written
		if f.created {
			_ = os.Remove(f.file.Name()) // an empty file is no harm
		}
	}
}
