package chat

// keysModel is the page of keyboard shortcuts.
type keysModel struct {
	Keys []shortcut `json:"keys"`
}

func (*keysModel) title() string { return "Keyboard shortcuts" }

// shortcut is a key and what it does.
type shortcut struct {
	Keys []string `json:"keys"`
	Does string   `json:"does"`
}

// shortcuts are the keys that the script knows; where Zulip has one for the same, it is Zulip's.
var shortcuts = []shortcut{
	{[]string{"j", "↓"}, "the next message, or the next line of a list"},
	{[]string{"k", "↑"}, "the one before"},
	{[]string{"Home"}, "the first"},
	{[]string{"G", "End"}, "the last"},
	{[]string{"Enter"}, "open what is selected, or reply to it"},
	{[]string{"c"}, "compose"},
	{[]string{"r"}, "reply"},
	{[]string{">"}, "quote the selected message and reply"},
	{[]string{"@"}, "reply, mentioning its sender"},
	{[]string{"+"}, "react with a thumb up"},
	{[]string{":"}, "choose a reaction"},
	{[]string{"-"}, "fold or unfold the spoilers of the selected message"},
	{[]string{"e"}, "edit the selected message, if it is yours and not too old"},
	{[]string{"←"}, "edit your last message here"},
	{[]string{"Delete"}, "delete the selected message"},
	{[]string{"n"}, "the next place with unread messages"},
	{[]string{"P"}, "direct messages"},
	{[]string{"a"}, "all channels"},
	{[]string{"/"}, "search"},
	{[]string{"Esc"}, "leave a field or close what is open"},
	{[]string{"?"}, "these shortcuts"},
}

// keysPage lists the shortcuts. In the compose box, Enter sends and Shift+Enter begins a new line.
func (s *Server) keysPage(*visit) (model, error) { return &keysModel{Keys: shortcuts}, nil }
