// Keeps the page up to date: an event queue tells that something happened, and
// the page's own address what the page now shows. So everything on a page was
// rendered by the server, once, in one way.
import { api, page } from './ask.js';

const messages = document.getElementById('messages');
const status = document.getElementById('status');

// people are the accounts, for whoever completes names.
export let people = [];

// arrived is called with each article that came.
let arrived = () => {};
export function onArrival(f) { arrived = f; }

// open tells whether new messages of this conversation belong on this page.
function open() { return messages && messages.dataset.last !== undefined; }

let running = null;
let again = false;

// refresh brings the page up to date; a call while one runs makes it run once more.
export function refresh() {
  if (running) {
    again = true;
    return running;
  }
  running = (async () => {
    do {
      again = false;
      await update();
    } while (again);
  })().finally(() => { running = null; });
  return running;
}

const name = document.title;

// title tells, also on a tab in the background, how many messages wait that call one.
function title() {
  const calls = [...document.querySelectorAll('#side > ul:first-child .unread-count')].reduce((sum, one) => sum + parseInt(one.textContent, 10), 0);
  document.title = (calls ? '(' + calls + ') ' : '') + name;
}

async function update() {
  const address = open() ? messages.dataset.address + '?after=' + messages.dataset.last : location.href;
  const fresh = await page(address);
  if (!fresh) return;
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = fresh.getElementById(part.id);
    if (other && !part.contains(document.activeElement)) part.replaceWith(document.importNode(other, true));
  }
  title();
  if (!open()) return;
  const list = fresh.getElementById('messages');
  for (const one of list ? [...list.children] : []) {
    if (one.id && document.getElementById(one.id)) continue;
    const node = document.importNode(one, true);
    const waiting = messages.querySelector('.pending[data-id="' + node.dataset.id + '"]');
    if (waiting) waiting.remove();
    if (node.matches('.day') && [...messages.querySelectorAll('.day')].at(-1)?.textContent === node.textContent) continue;
    const sent = messages.querySelector('.pending');
    messages.insertBefore(node, sent);
    if (node.matches('.message')) {
      messages.dataset.last = node.dataset.id;
      arrived(node);
    }
  }
  document.querySelector('.empty')?.remove();
  if (fresh.querySelector('.pager a[href*="after="]')) again = true;
  read();
}

// replace shows a message as it is now.
export async function replace(id) {
  const old = document.getElementById('message-' + id);
  if (!old) return;
  const fresh = await page('/message/' + id);
  const node = fresh && fresh.getElementById('message-' + id);
  if (!node) return;
  old.classList.toggle('mentioned', node.classList.contains('mentioned'));
  // Part by part: what has not changed is not read out again, and stays as unfolded as it is.
  for (const part of ['header', '.content']) {
    const before = old.querySelector(part);
    const after = node.querySelector(part);
    if (before.innerHTML === after.innerHTML) continue;
    const shown = document.importNode(after, true);
    shown.hidden = before.hidden; // somebody edits it here
    before.replaceWith(shown);
  }
  buttons(old.querySelector('.reactions'), node.querySelector('.reactions'));
}

// buttons shows the reactions of a message anew; the choice beside them stays as open as it is.
function buttons(form, fresh) {
  const own = (f) => [...f.children].filter((one) => one.matches('button'));
  const all = (f) => own(f).map((one) => one.outerHTML).join();
  if (all(form) === all(fresh)) return;
  const focus = own(form).includes(document.activeElement) ? document.activeElement.value : null;
  for (const one of own(form)) one.remove();
  form.querySelector('.acts').before(...own(fresh).map((one) => document.importNode(one, true)));
  if (focus) (own(form).find((one) => one.value === focus) || form.closest('.message')).focus();
}

// remove takes a message away; the name above it stays with those of its sender below.
export function remove(id) {
  const old = document.getElementById('message-' + id);
  if (!old) return;
  const [before, next] = [old.previousElementSibling, old.nextElementSibling];
  if (!old.matches('.same')) next?.classList.remove('same');
  if (before?.matches('.day') && !next?.matches('.message')) before.remove();
  old.remove();
}

// read tells the server which messages somebody has before their eyes.
async function read() {
  if (document.hidden || !document.body.dataset.me) return;
  const list = [...document.querySelectorAll('#messages .message.unread:not([data-read])')];
  if (!list.length) return;
  for (const one of list) one.dataset.read = '';
  await api('POST', '/messages/flags', { messages: list.map((one) => Number(one.dataset.id)), op: 'add', flag: 'read' });
}

function happened(events) {
  let more = false;
  for (const event of events) {
    if (event.type === 'message' || event.type === 'update_message_flags' || event.type === 'subscription' || event.type === 'stream') more = true;
    if (event.type === 'reaction') replace(event.message_id);
    if (event.type === 'update_message') event.message_ids.forEach(event.subject !== undefined && open() ? remove : replace);
    if (event.type === 'delete_message') event.message_ids.forEach(remove);
    if (event.type === 'delete_message' || event.subject !== undefined) more = true;
  }
  if (more) refresh().catch(() => {});
}

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

// poll reads one queue until it fails. A page that nobody looks at asks now and
// then: a browser keeps few connections to a server, for all its pages.
async function poll() {
  const queue = await api('POST', '/register', {
    event_types: ['message', 'update_message', 'delete_message', 'reaction', 'update_message_flags', 'subscription', 'stream'],
    fetch_event_types: ['realm_user'], all_public_streams: true,
  });
  people = queue.realm_users;
  addEventListener('pagehide', () => { api('DELETE', '/events', { queue_id: queue.queue_id }, { keepalive: true }).catch(() => {}); }, { once: true });
  await refresh();
  status.textContent = '';
  document.body.dataset.connected = '';
  let last = queue.last_event_id;
  for (;;) {
    const asking = new AbortController();
    const leave = () => { if (document.hidden) asking.abort(); };
    document.addEventListener('visibilitychange', leave);
    try {
      const answer = await api('GET', '/events', { queue_id: queue.queue_id, last_event_id: last, dont_block: document.hidden }, { signal: asking.signal });
      for (const event of answer.events) last = Math.max(last, event.id);
      happened(answer.events);
    } catch (problem) {
      if (problem.name !== 'AbortError') throw problem;
    } finally {
      document.removeEventListener('visibilitychange', leave);
    }
    if (document.hidden) {
      await Promise.race([pause(30000), new Promise((done) => { document.addEventListener('visibilitychange', done, { once: true }); })]);
    }
  }
}

// live keeps polling, for as long as the page is there and somebody is signed in.
export async function live() {
  document.addEventListener('visibilitychange', () => { read().catch(() => {}); });
  read().catch(() => {});
  let wait = 500;
  for (;;) {
    const begun = Date.now();
    try {
      await poll();
    } catch (problem) {
      delete document.body.dataset.connected;
      if (problem.status === 401) {
        status.textContent = 'You are signed out. Sign in again to see new messages.';
        return;
      }
      if (problem.status !== 400) status.textContent = 'The chat does not answer. Trying again …';
    }
    wait = Date.now() - begun > 60000 ? 500 : Math.min(wait * 2, 30000);
    await pause(wait);
  }
}
