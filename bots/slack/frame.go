package slack

import (
	"encoding/json"
	"slices"
)

// frame is what is read of one frame of an event stream, in one pass over it.
// Slack sends far more with each event (blocks, files, earlier versions); what is
// not named here is passed over.
type frame struct {
	Type    string  `json:"type"`
	ID      string  `json:"envelope_id"` // of this sending; "" where nothing is to be acknowledged
	Attempt int     `json:"retry_attempt"`
	Reason  string  `json:"reason"`     // of a disconnect
	About   about   `json:"debug_info"` // of a hello
	Payload payload `json:"payload"`
	Change  *change `json:"-"` // of an event that tells of one
}

// The types of frames.
const (
	frameHello      = "hello"
	frameDisconnect = "disconnect"
	frameEvent      = "events_api"
	framePress      = "interactive"
)

// about is what a stream says of itself when it opens.
type about struct {
	Lifetime int `json:"approximate_connection_time"` // seconds after which Slack will close it
}

// payload is an event of the workspace, or something that somebody did with a message of the bot's.
type payload struct {
	TeamID string `json:"team_id"`
	Event  event  `json:"event"`

	// Of what somebody did.
	Type string `json:"type"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		TS     string `json:"message_ts"`
		Thread string `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		User   string `json:"user"`
		TS     string `json:"ts"`
		Thread string `json:"thread_ts"`
	} `json:"message"`
	Actions []action `json:"actions"`
}

// action is a press of one button.
type action struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	TS    string `json:"action_ts"`
}

// event is an event of any type, as far as it matters; a message of a
// conversation's history has the same shape.
type event struct {
	Type        string    `json:"type"`
	Subtype     string    `json:"subtype"`
	Channel     string    `json:"channel"`
	ChannelType string    `json:"channel_type"` // of message events: "channel", "group", "im", "mpim"
	User        string    `json:"user"`
	Bot         string    `json:"bot_id"`
	Text        string    `json:"text"`
	TS          string    `json:"ts"`
	Thread      string    `json:"thread_ts"`
	UserTeam    string    `json:"user_team"`
	SourceTeam  string    `json:"source_team"`
	Edited      *struct{} `json:"edited"`

	// Of a reaction.
	Reaction string `json:"reaction"`
	At       string `json:"event_ts"`
	Author   string `json:"item_user"` // of the message reacted to
	Item     struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	} `json:"item"`
}

// change is an event that tells of a channel or an account what it is now: an
// object stands where other events have an id.
type change struct {
	Payload struct {
		Event struct {
			Channel conversation `json:"channel"`
			User    member       `json:"user"`
		} `json:"event"`
	} `json:"payload"`
}

// changes are the types of such events.
var changes = []string{"channel_rename", "group_rename", "user_change", "team_join"}

// readFrame decodes a frame. One in which a field has another type than expected
// is read as far as it goes, and its id at any rate, so that it can be acknowledged.
func readFrame(text []byte) (*frame, error) {
	f := &frame{}
	err := json.Unmarshal(text, f)
	if err != nil && f.ID != "" && slices.Contains(changes, f.Payload.Event.Type) {
		f.Change = &change{}
		err = json.Unmarshal(text, f.Change)
	}
	return f, err
}
