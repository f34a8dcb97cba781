// What the pages do beyond reading and sending forms, which work without it.
import { follow } from './narrow.js';
import { fill } from './signin.js';
import { live } from './live.js';
import { compose } from './compose.js';
import { keys, reactions } from './keys.js';
import { changes } from './change.js';

document.documentElement.classList.add('js');
addEventListener('hashchange', follow);
follow();
fill();
keys();
compose();
reactions();
changes();
if (document.body.dataset.me) live();
