package botstest

import (
	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
)

// Press presses the button with the text under a bot's message, as the user; false when there is none.
func (c *Chat) Press(user, id, text string) bool {
	return c.press(user, id, func(m markup.Message) *bots.Press {
		for _, b := range m.Blocks {
			for _, button := range b.Buttons {
				if button.Text == text {
					return &bots.Press{On: id, Value: button.Value}
				}
			}
		}
		return nil
	})
}

// React puts an emoji on a bot's message, as the user; false when there is no such message.
func (c *Chat) React(user, id, emoji string) bool {
	return c.press(user, id, func(markup.Message) *bots.Press { return &bots.Press{On: id, Emoji: emoji} })
}

// press adds what a user did to a bot's message.
func (c *Chat) press(user, id string, of func(markup.Message) *bots.Press) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.said {
		if s.ID != id || s.Text != "" || s.press != nil {
			continue
		}
		p := of(s.Message)
		if p != nil {
			c.add(&Said{From: user, Place: s.Place, At: c.now(), press: p})
		}
		return p != nil
	}
	return false
}
