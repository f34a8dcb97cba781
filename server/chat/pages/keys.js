// The keyboard: Zulip's shortcuts, listed on the page /keys.
import { send, page } from './ask.js';
import { replace } from './live.js';
import { write } from './compose.js';
import { edit, erase } from './change.js';

// lines are what can be selected: messages, else the lines of a list.
function lines() {
  const all = [...document.querySelectorAll('.message[data-id]')];
  return all.length ? all : [...document.querySelectorAll('main .lines a')];
}

function selected() { return document.activeElement?.closest('.message[data-id]'); }

function select(one) {
  if (!one) return;
  one.focus();
  one.scrollIntoView({ block: 'nearest' });
}

function move(step) {
  const all = lines();
  const at = all.indexOf(document.activeElement?.closest('.message[data-id], .lines a'));
  if (at < 0) select(all.at(step > 0 && !all[0]?.matches('.message') ? 0 : -1));
  else select(all[Math.min(Math.max(at + step, 0), all.length - 1)]);
}

const nameOf = (message) => message.querySelector('header b').textContent;

async function react(message, name) {
  await send({ action: '/message/' + message.dataset.id + '/reactions' }, { emoji_name: name });
  await replace(message.dataset.id);
}

// help shows the shortcuts of the page /keys in a dialog.
async function help() {
  let dialog = document.querySelector('dialog');
  if (!dialog) {
    const keys = (await page('/keys'))?.getElementById('keys');
    if (!keys) return;
    dialog = document.createElement('dialog');
    dialog.setAttribute('aria-label', 'Keyboard shortcuts');
    const close = document.createElement('button');
    close.textContent = 'Close';
    close.addEventListener('click', () => dialog.close());
    dialog.append(document.importNode(keys, true), close);
    document.body.append(dialog);
  }
  dialog.showModal();
}

// quote reads a message's own text, which a page does not have.
async function quote(message) {
  const response = await fetch('/api/v1/messages/' + message.dataset.id + '?apply_markdown=false');
  const body = await response.json();
  if (!response.ok) return;
  let fence = '```';
  while (body.message.content.includes(fence)) fence += '`';
  write('@_**' + nameOf(message) + '**:\n' + fence + 'quote\n' + body.message.content + '\n' + fence + '\n');
}

const go = (address) => { location.href = address; };

// acts are the shortcuts; one that gives false leaves the key to the browser.
const acts = {
  j: () => move(1), ArrowDown: () => move(1),
  k: () => move(-1), ArrowUp: () => move(-1),
  Home: () => select(lines()[0]),
  G: () => select(lines().at(-1)), End: () => select(lines().at(-1)),
  Enter: () => (selected() === document.activeElement && selected() ? write() : false),
  c: () => write(), r: () => write(),
  '>': () => selected() && quote(selected()),
  '@': () => selected() && write('@**' + nameOf(selected()) + '** '),
  '+': () => selected() && react(selected(), '+1'),
  ':': () => {
    const choice = selected()?.querySelector('.react');
    if (!choice) return;
    choice.open = true;
    choice.querySelector('.choice button').focus();
  },
  '-': () => {
    const all = [...(selected()?.querySelectorAll('.content details') || [])];
    const open = !all.some((one) => one.open);
    for (const one of all) one.open = open;
  },
  e: () => (selected()?.querySelector('a.edit') ? edit(selected()) : false),
  ArrowLeft: () => { const own = [...document.querySelectorAll('#messages .message:has(a.edit)')].at(-1); return own ? (own.scrollIntoView({ block: 'nearest' }), edit(own)) : false; },
  Delete: () => (selected()?.querySelector('a.delete') ? erase(selected()) : false),
  n: () => { const next = document.querySelector('#side li:has(> .unread-count) li:has(> .unread-count) > a:not([aria-current]), #side li:has(> .unread-count) > a:not([aria-current])'); if (next) go(next.href); },
  P: () => go('/direct'),
  a: () => go('/'),
  '/': () => document.getElementById('q').focus(),
  '?': () => { help(); },
};

function leave() {
  for (const one of document.querySelectorAll('.react[open]')) {
    one.open = false;
    one.closest('.message').focus();
    return;
  }
  document.activeElement?.blur();
}

// keys listens. What is typed into a field is the field's.
export function keys() {
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector('dialog[open]')) return;
    if (e.key === 'Escape') {
      leave();
      return;
    }
    if (e.target.closest('input, textarea, select, [contenteditable]')) return;
    if (e.key === 'Enter' && e.target.closest('a, button, summary')) return;
    const act = Object.hasOwn(acts, e.key) ? acts[e.key] : null;
    if (act && act() !== false) e.preventDefault();
  });
}

// reactions sends what the buttons under messages are for, without leaving the page.
export function reactions() {
  document.addEventListener('submit', async (e) => {
    const form = e.target;
    if (!form.matches('form.reactions') || !e.submitter) return;
    e.preventDefault();
    const id = form.closest('.message').dataset.id;
    try {
      await send(form, { emoji_name: e.submitter.value });
    } catch (problem) {
      document.getElementById('status').textContent = problem.message;
    }
    const choice = e.submitter.closest('.react');
    if (choice) {
      choice.open = false;
      choice.querySelector('summary').focus();
    }
    await replace(id);
  });
}
