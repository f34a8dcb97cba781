package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// record is the file of a deployment: which image its name runs.
type record struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// readRecords lists the recorded digests by name.
func readRecords(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read deployments: %w", err)
	}
	records := map[string]string{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // a write that a crash cut short: it has no effect
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read deployment: %w", err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read deployment %s: %w", e.Name(), err)
		}
		records[r.Name] = r.Digest
	}
	return records, nil
}

// writeRecord replaces the record of a name, whole or not at all.
func writeRecord(dir, name, digest string) error {
	text, err := json.Marshal(record{Name: name, Digest: digest})
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	file := recordFile(dir, name)
	if old, err := os.ReadFile(file); err == nil && string(old) == string(text) {
		return nil
	}
	if err := replaceFile(file, text); err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}

// removeRecord removes the record of a name, if there is one.
func removeRecord(dir, name string) error {
	if !label.MatchString(name) {
		return nil // such a name was never applied
	}
	if err := os.Remove(recordFile(dir, name)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return syncDir(dir)
}

func recordFile(dir, name string) string { return filepath.Join(dir, name+".json") }

// replaceFile writes a file whole or not at all, and durably: after a crash
// there is the old content or the new, and perhaps a file.new that counts for nothing.
func replaceFile(file string, text []byte) error {
	if err := writeSynced(file+".new", text); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// writeSynced writes a file and waits until it is on disk.
func writeSynced(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir waits until a directory's entries are on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
