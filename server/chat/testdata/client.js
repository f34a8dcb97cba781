// Uses this chat with Zulip's own JavaScript client, which is in the directory
// that PLATFORM_TEST_ZULIP_JS names; ZULIPRC is the account's credentials file.
// Prints what it saw as one JSON object.
'use strict';
const zulip = require(process.env.PLATFORM_TEST_ZULIP_JS + '/node_modules/zulip-js');

(async () => {
  const client = await zulip({ zuliprc: process.env.ZULIPRC });
  const must = (what, answer) => {
    if (answer.result !== 'success') throw new Error(what + ': ' + JSON.stringify(answer));
    return answer;
  };
  must('subscribe', await client.users.me.subscriptions.add({ subscriptions: JSON.stringify([{ name: 'clients' }]) }));
  const queue = must('register', await client.queues.register({ event_types: ['message', 'reaction', 'update_message'] }));
  const sent = must('send', await client.messages.send({ type: 'stream', to: 'clients', topic: 'greetings', content: 'hello' }));
  must('edit', await client.messages.update({ message_id: sent.id, content: 'hello *again*' }));
  must('react', await client.reactions.add({ message_id: sent.id, emoji_name: 'octopus' }));
  const events = must('events', await client.events.retrieve({ queue_id: queue.queue_id, last_event_id: -1, dont_block: true })).events;
  const history = must('history', await client.messages.retrieve({
    anchor: 'newest', num_before: 10, num_after: 0, narrow: [{ operator: 'stream', operand: 'clients' }],
  })).messages;
  must('flags', await client.messages.flags.add({ messages: [sent.id], flag: 'starred' }));
  must('profile', await client.users.me.getProfile());
  must('users', await client.users.retrieve());
  must('streams', await client.streams.retrieve());
  must('stream id', await client.streams.getStreamId('clients'));
  must('subscriptions', await client.streams.subscriptions.retrieve());
  must('emoji', await client.emojis.retrieve());
  must('filters', await client.filters.retrieve());
  must('alert words', await client.users.me.alertWords.retrieve());
  must('render', await client.messages.render('**x**'));
  must('typing', await client.typing.send({ to: JSON.stringify([1]), op: 'start' }));
  must('settings', await client.server.settings());
  must('unreact', await client.reactions.remove({ message_id: sent.id, emoji_name: 'octopus' }));
  must('delete', await client.messages.deleteById({ message_id: sent.id }));
  must('deregister', await client.queues.deregister({ queue_id: queue.queue_id }));
  must('unsubscribe', await client.users.me.subscriptions.remove({ subscriptions: JSON.stringify(['clients']) }));
  console.log(JSON.stringify({ events: events.map((e) => e.type), content: history[0].content, reactions: history[0].reactions.map((r) => r.emoji_name) }));
})().catch((problem) => { console.error(problem); process.exit(1); });
