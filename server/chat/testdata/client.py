"""Uses this chat with Zulip's own Python client, which is on the module path;
ZULIPRC is the account's credentials file. Prints what it saw as one JSON object."""
import json
import os

import zulip

client = zulip.Client(config_file=os.environ["ZULIPRC"])


def must(what, answer):
    if answer["result"] != "success":
        raise SystemExit(f"{what}: {answer}")
    return answer


must("subscribe", client.add_subscriptions(streams=[{"name": "clients"}]))
queue = must("register", client.register(event_types=["message", "reaction", "update_message"]))
sent = must("send", client.send_message({"type": "stream", "to": "clients", "topic": "greetings", "content": "hello"}))["id"]
must("direct", client.send_message({"type": "private", "to": [client.email], "content": "a note"}))
must("edit", client.update_message({"message_id": sent, "content": "hello *again*"}))
must("react", client.add_reaction({"message_id": sent, "emoji_name": "octopus"}))
events = must("events", client.get_events(queue_id=queue["queue_id"], last_event_id=-1, dont_block=True))["events"]
history = must("history", client.get_messages(
    {"anchor": "newest", "num_before": 10, "num_after": 0, "narrow": [{"operator": "channel", "operand": "clients"}]}))["messages"]
stream = must("stream id", client.get_stream_id("clients"))["stream_id"]
me = must("profile", client.get_profile())["user_id"]
must("raw", client.get_raw_message(sent))
must("edits", client.get_message_history(sent))
must("users", client.get_users())
must("streams", client.get_streams())
must("subscriptions", client.get_subscriptions())
must("topics", client.get_stream_topics(stream))
must("subscribers", client.get_subscribers(stream="clients"))
must("subscription", client.get_subscription_status(me, stream))
must("emoji", client.get_realm_emoji())
must("linkifiers", client.get_realm_linkifiers())
must("fields", client.get_realm_profile_fields())
must("settings", client.get_server_settings())
must("presence", client.get_realm_presence())
must("alert words", client.get_alert_words())
must("groups", client.get_user_groups())
must("attachments", client.get_attachments())
must("flags", client.update_message_flags({"messages": [sent], "op": "add", "flag": "starred"}))
must("read a topic", client.mark_topic_as_read(stream, "greetings"))
must("read a channel", client.mark_stream_as_read(stream))
must("read all", client.mark_all_as_read())
must("render", client.render_message({"content": "**x**"}))
must("typing", client.set_typing_status({"op": "start", "to": [me]}))
must("unreact", client.remove_reaction({"message_id": sent, "emoji_name": "octopus"}))
must("delete", client.delete_message(sent))
must("deregister", client.deregister(queue["queue_id"]))
must("unsubscribe", client.remove_subscriptions(["clients"]))
print(json.dumps({"events": [e["type"] for e in events], "content": history[0]["content"],
                  "reactions": [r["emoji_name"] for r in history[0]["reactions"]]}))
