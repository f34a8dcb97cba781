package window

import "sync"

// Parser reads windows and remembers what it read, so that a text that is
// looked at again and again is parsed once, and that windows of one zone share
// it. The zero value is ready; a nil Parser reads and remembers nothing. It may
// be used by many goroutines at once, and must not be copied.
type Parser struct {
	mu    sync.RWMutex
	read  map[string]reading
	zones map[string]*zone
}

// reading is what became of a text.
type reading struct {
	window Window
	err    error
}

// maxReadings is how many texts a Parser remembers; with one more it starts
// over. Projects share few texts.
const maxReadings = 4096

// Parse is the function Parse with a memory: the same text has the same answer.
func (p *Parser) Parse(text string) (Window, error) {
	if p == nil || len(text) > maxText { // what is too long is refused quickly, and not worth keeping
		return parse(text, loadZone)
	}
	p.mu.RLock()
	known, ok := p.read[text]
	p.mu.RUnlock()
	if ok {
		return known.window, known.err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w, err := parse(text, p.zone)
	if len(p.read) >= maxReadings {
		p.read, p.zones = nil, nil
	}
	if p.read == nil {
		p.read, p.zones = map[string]reading{}, map[string]*zone{}
	}
	p.read[text] = reading{w, err}
	if err == nil {
		p.zones[w.zone.location.String()] = w.zone
	}
	return w, err
}

// zone is the zone of that name, the one other windows have where there is one.
func (p *Parser) zone(name string) (*zone, error) {
	if z, ok := p.zones[name]; ok {
		return z, nil
	}
	return loadZone(name)
}
