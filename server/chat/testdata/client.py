"""Uses this chat with Zulip's own Python client, which is on the module path;
ZULIPRC is the account's credentials file. Prints what it saw as one JSON object."""
import json
import os
import queue
import threading

import zulip


class Listening(zulip.Client):
    """The client, telling when it has registered."""

    registered = threading.Event()

    def register(self, *args, **kwargs):
        answer = super().register(*args, **kwargs)
        self.registered.set()
        return answer


client = zulip.Client(config_file=os.environ["ZULIPRC"])


def must(what, answer):
    if answer["result"] != "success":
        raise SystemExit(f"{what}: {answer}")
    return answer


def fails(what, code, answer):
    if answer["result"] != "error" or answer["code"] != code or not answer["msg"]:
        raise SystemExit(f"{what}: {answer}")


me = must("profile", client.get_profile())["user_id"]
must("subscribe", client.add_subscriptions(streams=[{"name": "clients", "description": "of clients"}]))
stream = must("stream id", client.get_stream_id("clients"))["stream_id"]
own = must("register", client.register(event_types=["message", "reaction", "update_message"]))

# The client's own loop over events, as bots run it.
heard = queue.Queue()
listening = Listening(config_file=os.environ["ZULIPRC"])
threading.Thread(target=lambda: listening.call_on_each_event(
    heard.put, event_types=["message", "update_message", "reaction", "delete_message"]), daemon=True).start()
if not Listening.registered.wait(30):
    raise SystemExit("the client's loop has not registered")

sent = must("send", client.send_message({"type": "stream", "to": "clients", "topic": "greetings", "content": "hello"}))["id"]
must("direct", client.send_message({"type": "private", "to": [client.email], "content": "a *note* to myself"}))
must("edit", client.update_message({"message_id": sent, "content": "hello *again*"}))
must("react", client.add_reaction({"message_id": sent, "emoji_name": "octopus"}))
fails("react twice", "REACTION_ALREADY_EXISTS", client.add_reaction({"message_id": sent, "emoji_name": "octopus"}))
events = must("events", client.get_events(queue_id=own["queue_id"], last_event_id=-1, dont_block=True))["events"]
history = must("history", client.get_messages(
    {"anchor": "newest", "num_before": 10, "num_after": 0, "narrow": [{"operator": "channel", "operand": "clients"}]}))["messages"]
direct = must("direct history", client.get_messages(
    {"anchor": "newest", "num_before": 10, "num_after": 0, "apply_markdown": False, "narrow": [{"operator": "dm", "operand": [me]}]}))["messages"]
must("unread", client.get_messages({"anchor": "first_unread", "num_before": 5, "num_after": 5, "narrow": [{"operator": "is", "operand": "dm"}]}))
must("raw", client.get_raw_message(sent))
must("edits", client.get_message_history(sent))
must("user", client.get_user_by_id(me))
must("users", client.get_users())
must("members", client.get_members({"client_gravatar": True}))
must("streams", client.get_streams(include_public=True, include_subscribed=True))
must("subscriptions", client.get_subscriptions({"include_subscribers": True}))
topics = must("topics", client.get_stream_topics(stream))["topics"]
must("subscribers", client.get_subscribers(stream="clients"))
must("subscription", client.get_subscription_status(me, stream))
must("emoji", client.get_realm_emoji())
must("linkifiers", client.get_realm_linkifiers())
must("fields", client.get_realm_profile_fields())
must("settings", client.get_server_settings())
must("presence", client.get_realm_presence())
must("own presence", client.update_presence({"status": "active", "ping_only": False, "new_user_input": False}))
must("alert words", client.get_alert_words())
must("groups", client.get_user_groups())
must("attachments", client.get_attachments())
must("flags", client.update_message_flags({"messages": [sent], "op": "add", "flag": "starred"}))
must("flags off", client.update_message_flags({"messages": [sent], "op": "remove", "flag": "starred"}))
must("read a topic", client.mark_topic_as_read(stream, "greetings"))
must("read a channel", client.mark_stream_as_read(stream))
must("read all", client.mark_all_as_read())
must("render", client.render_message({"content": "**x**"}))
must("typing", client.set_typing_status({"op": "start", "to": [me]}))
must("typing in a channel", client.set_typing_status({"type": "stream", "op": "start", "stream_id": stream, "topic": "greetings"}))
must("unreact", client.remove_reaction({"message_id": sent, "emoji_name": "octopus"}))
fails("unreact twice", "REACTION_DOES_NOT_EXIST", client.remove_reaction({"message_id": sent, "emoji_name": "octopus"}))
must("rename the topic", client.move_topic("clients", "clients", "greetings", "farewells", message_id=sent, propagate_mode="change_one"))
moved = must("topics again", client.get_stream_topics(stream))["topics"]
must("delete", client.delete_message(sent))
fails("delete twice", "BAD_REQUEST", client.delete_message(sent))
must("deregister", client.deregister(own["queue_id"]))
fails("a queue that is gone", "BAD_EVENT_QUEUE_ID", client.get_events(queue_id=own["queue_id"], last_event_id=-1, dont_block=True))
fails("a channel that is not there", "STREAM_DOES_NOT_EXIST",
      client.send_message({"type": "stream", "to": "nowhere", "topic": "t", "content": "x"}))
must("unsubscribe", client.remove_subscriptions(["clients"]))
fails("a wrong key", "INVALID_API_KEY", zulip.Client(email=client.email, api_key="wrong", site=client.base_url).get_profile())

saw = []
while not saw or saw[-1]["type"] != "delete_message":
    saw.append(heard.get(timeout=30))
print(json.dumps({"events": [e["type"] for e in events], "heard": [" ".join(filter(None, (e["type"], e.get("op")))) for e in saw],
                  "content": history[0]["content"], "reactions": [r["emoji_name"] for r in history[0]["reactions"]],
                  "direct": [m["content"] for m in direct], "topics": [t["name"] for t in topics + moved]}))
