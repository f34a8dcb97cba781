package git

import (
	"strings"
	"time"
)

// userShape is a user or an organisation as Gitea writes one, key for key.
type userShape struct {
	ID                int64     `json:"id"`
	Login             string    `json:"login"`
	LoginName         string    `json:"login_name"`
	SourceID          int64     `json:"source_id"`
	FullName          string    `json:"full_name"`
	Email             string    `json:"email"`
	AvatarURL         string    `json:"avatar_url"`
	HTMLURL           string    `json:"html_url"`
	Language          string    `json:"language"`
	IsAdmin           bool      `json:"is_admin"`
	LastLogin         time.Time `json:"last_login"`
	Created           time.Time `json:"created"`
	Restricted        bool      `json:"restricted"`
	Active            bool      `json:"active"`
	ProhibitLogin     bool      `json:"prohibit_login"`
	Location          string    `json:"location"`
	Website           string    `json:"website"`
	Description       string    `json:"description"`
	Visibility        string    `json:"visibility"`
	FollowersCount    int64     `json:"followers_count"`
	FollowingCount    int64     `json:"following_count"`
	StarredReposCount int64     `json:"starred_repos_count"`
	Username          string    `json:"username"`
}

// repositoryShape is a repository as Gitea writes one, key for key. What this
// server has not (issues, a wiki, mirrors) is said to be absent.
type repositoryShape struct {
	ID                            int64           `json:"id"`
	Owner                         userShape       `json:"owner"`
	Name                          string          `json:"name"`
	FullName                      string          `json:"full_name"`
	Description                   string          `json:"description"`
	Empty                         bool            `json:"empty"`
	Private                       bool            `json:"private"`
	Fork                          bool            `json:"fork"`
	Template                      bool            `json:"template"`
	Mirror                        bool            `json:"mirror"`
	Size                          int64           `json:"size"`
	Language                      string          `json:"language"`
	LanguagesURL                  string          `json:"languages_url"`
	HTMLURL                       string          `json:"html_url"`
	URL                           string          `json:"url"`
	Link                          string          `json:"link"`
	SSHURL                        string          `json:"ssh_url"`
	CloneURL                      string          `json:"clone_url"`
	OriginalURL                   string          `json:"original_url"`
	Website                       string          `json:"website"`
	StarsCount                    int64           `json:"stars_count"`
	ForksCount                    int64           `json:"forks_count"`
	WatchersCount                 int64           `json:"watchers_count"`
	BranchCount                   int64           `json:"branch_count"`
	OpenIssuesCount               int64           `json:"open_issues_count"`
	OpenPullCounter               int64           `json:"open_pr_counter"`
	ReleaseCounter                int64           `json:"release_counter"`
	DefaultBranch                 string          `json:"default_branch"`
	Archived                      bool            `json:"archived"`
	CreatedAt                     time.Time       `json:"created_at"`
	UpdatedAt                     time.Time       `json:"updated_at"`
	ArchivedAt                    time.Time       `json:"archived_at"`
	Permissions                   permissionShape `json:"permissions"`
	HasCode                       bool            `json:"has_code"`
	HasIssues                     bool            `json:"has_issues"`
	InternalTracker               trackerShape    `json:"internal_tracker"`
	HasWiki                       bool            `json:"has_wiki"`
	HasPullRequests               bool            `json:"has_pull_requests"`
	HasProjects                   bool            `json:"has_projects"`
	ProjectsMode                  string          `json:"projects_mode"`
	HasReleases                   bool            `json:"has_releases"`
	HasPackages                   bool            `json:"has_packages"`
	HasActions                    bool            `json:"has_actions"`
	IgnoreWhitespaceConflicts     bool            `json:"ignore_whitespace_conflicts"`
	AllowMergeCommits             bool            `json:"allow_merge_commits"`
	AllowRebase                   bool            `json:"allow_rebase"`
	AllowRebaseExplicit           bool            `json:"allow_rebase_explicit"`
	AllowSquashMerge              bool            `json:"allow_squash_merge"`
	AllowFastForwardOnlyMerge     bool            `json:"allow_fast_forward_only_merge"`
	AllowRebaseUpdate             bool            `json:"allow_rebase_update"`
	AllowManualMerge              bool            `json:"allow_manual_merge"`
	AutodetectManualMerge         bool            `json:"autodetect_manual_merge"`
	DefaultDeleteBranchAfterMerge bool            `json:"default_delete_branch_after_merge"`
	DefaultMergeStyle             string          `json:"default_merge_style"`
	DefaultAllowMaintainerEdit    bool            `json:"default_allow_maintainer_edit"`
	AvatarURL                     string          `json:"avatar_url"`
	Internal                      bool            `json:"internal"`
	MirrorInterval                string          `json:"mirror_interval"`
	ObjectFormatName              string          `json:"object_format_name"`
	MirrorUpdated                 time.Time       `json:"mirror_updated"`
	Topics                        []string        `json:"topics"`
	Licenses                      []string        `json:"licenses"`
}

type permissionShape struct {
	Admin bool `json:"admin"`
	Push  bool `json:"push"`
	Pull  bool `json:"pull"`
}

type trackerShape struct {
	EnableTimeTracker                bool `json:"enable_time_tracker"`
	AllowOnlyContributorsToTrackTime bool `json:"allow_only_contributors_to_track_time"`
	EnableIssueDependencies          bool `json:"enable_issue_dependencies"`
}

// allowAll is what the account may do.
var allowAll = permissionShape{Admin: true, Push: true, Pull: true}

// userShape describes an owner.
func (s *Server) userShape(o owner) userShape {
	u := userShape{
		ID: o.ID, Login: o.Name, Username: o.Name, HTMLURL: s.cfg.BaseURL + "/" + o.Name,
		Created: o.Created, Visibility: "public", IsAdmin: o.Name == s.cfg.AdminUser, Active: o.Kind == kindUser,
	}
	if o.Kind == kindUser {
		u.Email = accountAddress(o.Name)
	}
	return u
}

// accountAddress is the address that the account commits under.
func accountAddress(name string) string { return name + "@noreply.localhost" }

// repositoryShape describes a repository that has so many branches, to who has the permissions.
func (s *Server) repositoryShape(r repository, branches int, may permissionShape) repositoryShape {
	api := s.apiURL(r)
	return repositoryShape{
		ID: r.ID, Owner: s.userShape(r.Owner), Name: r.Name, FullName: r.full(), Description: r.Description,
		Empty: branches == 0, Private: r.Private, Size: r.Size, BranchCount: int64(branches),
		HTMLURL: s.webURL(r), URL: api, CloneURL: s.cloneURL(r), LanguagesURL: api + "/languages",
		DefaultBranch: r.DefaultBranch, CreatedAt: r.Created, UpdatedAt: r.Updated, ArchivedAt: time.Unix(0, 0).UTC(),
		OpenPullCounter: r.OpenPulls, HasPullRequests: true, AllowMergeCommits: true, AllowSquashMerge: true, AllowFastForwardOnlyMerge: true,
		Permissions: may, HasCode: true, ProjectsMode: "all", DefaultMergeStyle: "merge", ObjectFormatName: "sha1",
		Topics: []string{}, Licenses: []string{},
	}
}

func (s *Server) apiURL(r repository) string { return s.cfg.BaseURL + apiPrefix + "/repos/" + r.full() }

// countBranches counts the branches among refs.
func countBranches(refs map[string]string) int {
	n := 0
	for ref := range refs {
		if strings.HasPrefix(ref, "refs/heads/") {
			n++
		}
	}
	return n
}
