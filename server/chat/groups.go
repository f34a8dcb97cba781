package chat

// The ids of the groups that every organisation has.
const (
	groupOwners = 1 + iota
	groupAdmins
	groupModerators
	groupMembers
	groupEveryone
	groupNobody
)

// systemGroups are the groups that roles make. There are no others.
func systemGroups(people []account) []map[string]any {
	groups := []struct {
		id         int
		name, what string
		least      int // the largest role number in it
	}{
		{groupOwners, "role:owners", "Owners of this organization", RoleOwner},
		{groupAdmins, "role:administrators", "Administrators of this organization, including owners", RoleAdmin},
		{groupModerators, "role:moderators", "Moderators of this organization, including administrators", RoleModerator},
		{groupMembers, "role:members", "Members of this organization, not including guests", RoleMember},
		{groupEveryone, "role:everyone", "Everyone in this organization, including guests", RoleGuest},
		{groupNobody, "role:nobody", "Nobody", 0},
	}
	var out []map[string]any
	for _, g := range groups {
		members := []int64{}
		for _, a := range people {
			if a.Role <= g.least {
				members = append(members, a.ID)
			}
		}
		o := map[string]any{"id": g.id, "name": g.name, "description": g.what, "members": members,
			"direct_subgroup_ids": []int{}, "is_system_group": true, "deactivated": false, "date_created": nil, "creator_id": nil}
		for _, setting := range []string{"can_add_members_group", "can_join_group", "can_leave_group", "can_manage_group", "can_mention_group", "can_remove_members_group"} {
			o[setting] = groupNobody
		}
		out = append(out, o)
	}
	return out
}
