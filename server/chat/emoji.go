package chat

import (
	"strconv"
	"strings"
)

// unicodeEmoji is the only reaction type here: there is no custom emoji.
const unicodeEmoji = "unicode_emoji"

// emojiNames gives the Unicode code points, as Zulip writes them, for Zulip's
// names and aliases of the emoji in wide use. A name that is not here is an
// error, as an unknown one is in Zulip.
var emojiNames = map[string]string{
	"+1": "1f44d", "thumbs_up": "1f44d", "like": "1f44d",
	"-1": "1f44e", "thumbs_down": "1f44e",
	"100": "1f4af", "hundred": "1f4af",
	"alarm_clock": "23f0", "alert": "1f6a8", "rotating_light": "1f6a8",
	"ambulance": "1f691", "anchor": "2693", "angry": "1f620",
	"arrow_down": "2b07", "down": "2b07", "arrow_up": "2b06", "up": "2b06",
	"left": "2b05", "right": "27a1", "arrow_right": "27a1",
	"at_work": "2692", "hammer_and_pick": "2692",
	"bell": "1f514", "big_smile": "1f604", "blue_circle": "1f535",
	"bomb": "1f4a3", "books": "1f4da", "bug": "1f41b", "calendar": "1f4c5",
	"cake": "1f370", "chart": "1f4c8", "check": "2705", "all_good": "2705", "approved": "2705",
	"check_mark": "2714", "heavy_check_mark": "2714", "checkbox": "2611",
	"clap": "1f44f", "applause": "1f44f", "clipboard": "1f4cb", "clock": "1f553",
	"cloud": "2601", "coffee": "2615", "compass": "1f9ed", "construction": "1f6a7",
	"construction_worker": "1f477", "cross_mark": "274c", "incorrect": "274c", "wrong": "274c",
	"cry": "1f622", "detective": "1f575", "double_exclamation": "203c", "email": "2709", "envelope": "2709",
	"exclamation": "2757", "eyes": "1f440", "looking": "1f440", "fire": "1f525", "lit": "1f525",
	"fast_forward": "23e9", "rewind": "23ea", "flag": "1f6a9", "triangular_flag": "1f6a9",
	"gear": "2699", "settings": "2699", "gift": "1f381", "present": "1f381",
	"globe": "1f30d", "green_circle": "1f7e2", "grinning": "1f600", "happy": "1f600",
	"hammer": "1f528", "maintenance": "1f528", "handshake": "1f91d", "done_deal": "1f91d",
	"heart": "2764", "love": "2764", "hourglass": "23f3", "time_ticking": "23f3",
	"hourglass_done": "231b", "idea": "1f4a1", "light_bulb": "1f4a1", "info": "2139",
	"joy": "1f602", "tears": "1f602", "key": "1f511", "label": "1f3f7", "laughing": "1f606", "lol": "1f606",
	"link": "1f517", "locked": "1f512", "lock": "1f512", "unlocked": "1f513",
	"lock_with_key": "1f510", "megaphone": "1f4e3", "mega": "1f4e3",
	"memo": "1f4dd", "note": "1f4dd", "money": "1f4b0", "muscle": "1f4aa",
	"mute": "1f507", "neutral": "1f610", "no_entry": "26d4", "wrong_way": "26d4",
	"prohibited": "1f6ab", "not_allowed": "1f6ab", "octopus": "1f419",
	"ok": "1f44c", "got_it": "1f44c", "open_mouth": "1f62e", "surprise": "1f62e",
	"package": "1f4e6", "party_popper": "1f389", "tada": "1f389", "pause": "23f8",
	"pencil": "270f", "play": "25b6", "point_down": "1f447", "point_left": "1f448",
	"point_right": "1f449", "point_up": "1f446", "this": "1f446",
	"pray": "1f64f", "thank_you": "1f64f", "welcome": "1f64f",
	"pushpin": "1f4cc", "question": "2753", "rainbow": "1f308", "raised_hands": "1f64c", "praise": "1f64c",
	"recycle": "267b", "red_circle": "1f534", "repeat": "1f501", "robot": "1f916",
	"rocket": "1f680", "sad": "2639", "scroll": "1f4dc", "search": "1f50d", "shield": "1f6e1", "ship": "1f6a2",
	"siren": "1f6a8", "skull": "1f480", "sleeping": "1f634", "smile": "263a", "smiley": "1f603",
	"snail": "1f40c", "snowflake": "2744", "sparkles": "2728", "glamour": "2728",
	"star": "2b50", "stop": "1f91a", "stop_button": "23f9", "stop_sign": "1f6d1", "octagonal_sign": "1f6d1",
	"sun": "2600", "sunny": "2600", "sweat_smile": "1f605", "target": "1f3af", "direct_hit": "1f3af",
	"thinking": "1f914", "traffic_light": "1f6a5", "trophy": "1f3c6", "truck": "1f69a",
	"umbrella": "2602", "warning": "26a0", "caution": "26a0", "danger": "26a0",
	"wave": "1f44b", "hello": "1f44b", "hi": "1f44b", "wink": "1f609",
	"working_on_it": "1f6e0", "hammer_and_wrench": "1f6e0", "tools": "1f6e0", "wrench": "1f527",
	"yellow_circle": "1f7e1", "yum": "1f60b", "zap": "26a1", "lightning": "26a1", "high_voltage": "26a1",
}

// emojiText is the characters of a code such as "1f6e0" or "1f1e9-1f1ea".
func emojiText(code string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(code, "-") {
		if n, err := strconv.ParseInt(part, 16, 32); err == nil {
			b.WriteRune(rune(n))
		}
	}
	return b.String()
}

// emoji is what a reaction says.
type emoji struct{ name, code string }

// readEmoji is the emoji of a request: by name, checked against the code when
// both are sent; by code alone where the request may leave the name out.
func readEmoji(p *params, nameless bool) (emoji, error) {
	name, named := p.raw("emoji_name")
	code, coded := p.raw("emoji_code")
	if kind := p.text(unicodeEmoji, "reaction_type"); kind != unicodeEmoji {
		return emoji{}, bad("Invalid emoji type.")
	}
	if !named && (!nameless || !coded) {
		_, err := p.need("emoji_name")
		return emoji{}, err
	}
	if !named {
		return emoji{code: code}, nil
	}
	known, ok := emojiNames[name]
	if !ok {
		return emoji{}, bad("Emoji '%s' does not exist", name)
	}
	if coded && code != known {
		return emoji{}, bad("Invalid emoji code.")
	}
	return emoji{name: name, code: known}, nil
}
