package runtime

import (
	"context"
	"os"
)

// Usage is what the processes of one deployment use now, all of them together:
// while a release is replaced, those of both.
type Usage struct {
	MemoryBytes int64   // resident; a page that two processes share counts twice
	CPUSeconds  float64 // since they started, with that of children that have ended
	Processes   int
}

// Usage measures what runs, by deployment name: the sums over the process
// groups. A static site has no process and stands in no sum. The error is one
// of a machine that does not show its processes.
func (s *Server) Usage(ctx context.Context) (map[string]Usage, error) {
	groups := s.groups()
	if len(groups) == 0 {
		return map[string]Usage{}, nil
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	used := map[string]Usage{}
	for _, st := range all {
		name, ours := groups[st.group]
		if !ours {
			continue
		}
		u := used[name]
		u.MemoryBytes += st.pages * int64(os.Getpagesize())
		u.CPUSeconds += float64(st.ticks) / ticksPerSecond
		u.Processes++
		used[name] = u
	}
	return used, ctx.Err()
}

// groups are the process groups that run, with the name of each.
func (s *Server) groups() map[int]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := make(map[int]string, len(s.alive))
	for p := range s.alive {
		groups[p.record.Group] = p.record.Name
	}
	return groups
}
