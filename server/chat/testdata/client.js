// Uses this chat with Zulip's own JavaScript client, which is in the directory
// that PLATFORM_TEST_ZULIP_JS names; ZULIPRC is the account's credentials file.
// Prints what it saw as one JSON object.
'use strict';
const fs = require('fs');
const zulip = require(process.env.PLATFORM_TEST_ZULIP_JS + '/node_modules/zulip-js');

// polling is the client's own loop over events: saw lists them, and until(f)
// waits for one. It does not tell when it has begun: what is said in the channel
// "begun" until it hears some of it is left out.
function polling(client, types) {
  const saw = [];
  let look = () => {};
  client.callOnEachEvent((event) => { saw.push(event); look(); }, types);
  const until = (f) => new Promise((resolve) => {
    look = () => { const found = saw.find(f); if (found) resolve(found); };
    look();
  });
  const probe = (event) => event.type === 'message' && event.message.display_recipient === 'begun';
  const begun = async () => {
    let yet = false;
    until(probe).then(() => { yet = true; });
    while (!yet) {
      await client.messages.send({ type: 'stream', to: 'begun', topic: 'begun', content: 'yet?' });
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  };
  return { until, begun, heard: () => saw.filter((event) => !probe(event)) };
}

(async () => {
  const client = await zulip({ zuliprc: process.env.ZULIPRC });
  const must = (what, answer) => {
    if (answer.result !== 'success') throw new Error(what + ': ' + JSON.stringify(answer));
    return answer;
  };
  const fails = (what, code, answer) => {
    if (answer.result !== 'error' || answer.code !== code || !answer.msg) throw new Error(what + ': ' + JSON.stringify(answer));
  };
  const me = must('profile', await client.users.me.getProfile());
  must('subscribe', await client.users.me.subscriptions.add({ subscriptions: JSON.stringify([{ name: 'clients' }, { name: 'begun' }]) }));
  const stream = must('stream id', await client.streams.getStreamId('clients')).stream_id;
  const { until, begun, heard } = polling(client, ['message', 'update_message', 'reaction', 'delete_message']);
  await begun();
  const queue = must('register', await client.queues.register({ event_types: ['message', 'reaction', 'update_message'] }));

  const sent = must('send', await client.messages.send({ type: 'stream', to: 'clients', topic: 'greetings', content: 'hello' }));
  const note = must('direct', await client.messages.send({ type: 'private', to: me.email, content: 'a *note* to myself' }));
  must('edit', await client.messages.update({ message_id: sent.id, content: 'hello *again*' }));
  must('react', await client.reactions.add({ message_id: sent.id, emoji_name: 'octopus' }));
  fails('react twice', 'REACTION_ALREADY_EXISTS', await client.reactions.add({ message_id: sent.id, emoji_name: 'octopus' }));
  const events = must('events', await client.events.retrieve({ queue_id: queue.queue_id, last_event_id: -1, dont_block: true })).events;
  const history = must('history', await client.messages.retrieve({
    anchor: 'newest', num_before: 10, num_after: 0, narrow: [{ operator: 'stream', operand: 'clients' }],
  })).messages;
  const direct = must('direct history', await client.messages.retrieve({
    anchor: 'newest', num_before: 10, num_after: 0, apply_markdown: false, narrow: [{ operator: 'dm', operand: [me.user_id] }],
  })).messages;
  must('one message', await client.messages.getById({ message_id: note.id }));
  must('edits', await client.messages.getHistoryById({ message_id: sent.id }));
  const topics = must('topics', await client.streams.topics.retrieve({ stream_id: stream })).topics;
  must('flags', await client.messages.flags.add({ messages: [sent.id], flag: 'starred' }));
  must('flags off', await client.messages.flags.remove({ messages: [sent.id], flag: 'starred' }));
  must('users', await client.users.retrieve());
  must('streams', await client.streams.retrieve());
  must('subscriptions', await client.streams.subscriptions.retrieve());
  must('emoji', await client.emojis.retrieve());
  must('filters', await client.filters.retrieve());
  must('alert words', await client.users.me.alertWords.retrieve());
  must('render', await client.messages.render('**x**'));
  must('typing', await client.typing.send({ to: JSON.stringify([me.user_id]), op: 'start' }));
  must('settings', await client.server.settings());
  must('any endpoint', await client.callEndpoint('/users/me', 'GET'));
  must('unreact', await client.reactions.remove({ message_id: sent.id, emoji_name: 'octopus' }));
  fails('unreact twice', 'REACTION_DOES_NOT_EXIST', await client.messages.deleteReactionById({ message_id: sent.id, emoji_name: 'octopus' }));
  must('delete', await client.messages.deleteById({ message_id: sent.id }));
  fails('delete twice', 'BAD_REQUEST', await client.messages.deleteById({ message_id: sent.id }));
  must('deregister', await client.queues.deregister({ queue_id: queue.queue_id }));
  fails('a queue that is gone', 'BAD_EVENT_QUEUE_ID', await client.events.retrieve({ queue_id: queue.queue_id, last_event_id: -1, dont_block: true }));
  fails('a channel that is not there', 'STREAM_DOES_NOT_EXIST', await client.messages.send({ type: 'stream', to: 'nowhere', topic: 't', content: 'x' }));
  must('unsubscribe', await client.users.me.subscriptions.remove({ subscriptions: JSON.stringify(['clients']) }));

  const wrong = process.env.ZULIPRC + '.wrong';
  fs.writeFileSync(wrong, fs.readFileSync(process.env.ZULIPRC, 'utf8').replace(/^key=.*$/m, 'key=wrong'));
  fails('a wrong key', 'INVALID_API_KEY', await (await zulip({ zuliprc: wrong })).users.me.getProfile());

  await until((event) => event.type === 'delete_message');
  console.log(JSON.stringify({
    events: events.map((e) => e.type), heard: heard().map((e) => (e.op ? e.type + ' ' + e.op : e.type)), content: history[0].content,
    reactions: history[0].reactions.map((r) => r.emoji_name), direct: direct.map((m) => m.content), topics: topics.map((t) => t.name),
  }));
  process.exit(0); // the client's loop has no end
})().catch((problem) => { console.error(problem); process.exit(1); });
