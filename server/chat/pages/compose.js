// The compose box: sends without leaving the page, shows what was sent before
// the server has it, gives back what could not be sent, and completes names.
import { send } from './ask.js';
import { people, refresh } from './live.js';

const form = document.getElementById('compose');
const text = document.getElementById('content');
const problem = document.getElementById('compose-problem');
const messages = document.getElementById('messages');

// waiting is what could not be sent, with the origin that makes sending it again the same message.
let waiting = { text: '', origin: '' };

function newOrigin() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
}

// pending shows what is on its way, as plain text.
function pending(content) {
  const article = document.createElement('article');
  article.className = 'message pending';
  const name = document.createElement('header');
  name.textContent = document.body.dataset.name + ' · sending …';
  const body = document.createElement('div');
  body.className = 'content';
  body.textContent = content;
  const spot = document.createElement('span');
  spot.className = 'avatar';
  article.append(spot, name, body);
  messages.append(article);
  return article;
}

async function post(content) {
  problem.textContent = '';
  text.value = '';
  const origin = content === waiting.text ? waiting.origin : newOrigin();
  const article = pending(content);
  try {
    const answer = await send(form, { content, origin });
    article.dataset.id = answer.id;
    if (document.getElementById('message-' + answer.id)) article.remove();
    waiting = { text: '', origin: '' };
    await refresh();
  } catch (e) {
    article.remove();
    waiting = { text: content, origin };
    if (!text.value) text.value = content;
    problem.textContent = 'Not sent: ' + e.message;
    text.focus();
  }
}

// names offers the accounts whose name begins with what follows an "@".
let list = null;
let chosen = 0;

function word() {
  return /(^|[\s(])@(\*\*)?([\p{L}\p{N}][\p{L}\p{N} ._-]*)?$/u.exec(text.value.slice(0, text.selectionStart));
}

function close() {
  list?.remove();
  list = null;
  text.removeAttribute('aria-activedescendant');
  text.setAttribute('aria-expanded', 'false');
}

function offer() {
  const typed = word();
  close();
  if (!typed) return;
  const start = (typed[3] || '').toLowerCase();
  const fit = people.filter((one) => one.full_name.toLowerCase().startsWith(start) && one.full_name.toLowerCase() !== start)
    .sort((a, b) => b.is_bot - a.is_bot).slice(0, 8);
  if (!fit.length) return;
  list = document.createElement('ul');
  list.id = 'names';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Names');
  fit.forEach((one, i) => {
    const item = document.createElement('li');
    item.id = 'name-' + i;
    item.setAttribute('role', 'option');
    item.textContent = one.full_name + (one.is_bot ? ' (bot)' : '');
    item.dataset.name = one.full_name;
    item.addEventListener('mousedown', (e) => { e.preventDefault(); take(item); });
    list.append(item);
  });
  form.append(list);
  text.setAttribute('aria-expanded', 'true');
  choose(0);
}

function choose(i) {
  const items = [...list.children];
  chosen = (i + items.length) % items.length;
  items.forEach((item, n) => item.setAttribute('aria-selected', String(n === chosen)));
  text.setAttribute('aria-activedescendant', items[chosen].id);
}

function take(item) {
  const typed = word();
  const end = text.selectionStart;
  const begin = end - typed[0].length + typed[1].length;
  text.setRangeText('@**' + item.dataset.name + '** ', begin, end, 'end');
  close();
}

function key(e) {
  if (e.isComposing) return;
  if (list) {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') choose(chosen + (e.key === 'ArrowDown' ? 1 : -1));
    else if (e.key === 'Enter' || e.key === 'Tab') take(list.children[chosen]);
    else if (e.key === 'Escape') close();
    else return;
    e.preventDefault();
    e.stopPropagation();
    return;
  }
  if (e.key === 'Enter' && !e.shiftKey && !e.altKey) {
    e.preventDefault();
    form.requestSubmit();
  }
}

// compose makes the box work; a page without one has nothing to do.
export function compose() {
  if (!form) return;
  text.setAttribute('aria-controls', 'names');
  text.setAttribute('aria-autocomplete', 'list');
  text.addEventListener('keydown', key);
  text.addEventListener('input', offer);
  text.addEventListener('blur', close);
  form.addEventListener('submit', (e) => {
    if (!messages || messages.dataset.last === undefined) return; // the page that the server leads to shows the message
    e.preventDefault();
    if (text.value.trim()) post(text.value);
  });
}

// write puts the cursor into the box, after what is to stand there.
export function write(start = '') {
  if (!form) return false;
  if (start) text.value = start + text.value;
  (document.getElementById('topic') || text).focus();
  return true;
}
