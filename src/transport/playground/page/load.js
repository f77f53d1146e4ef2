import { byId } from './dom.js';
import { samplingFields } from './sampling.js';

const form = byId('load', HTMLFormElement);
const count = byId('streams', HTMLSelectElement);
const startButton = byId('start-load', HTMLButtonElement);
const stopButton = byId('stop-load', HTMLButtonElement);

/** A beginning in common, so that an engine that caches prefixes has something to share. */
const BEGINNING =
  'Once upon a time there was a small village at the edge of a large forest. The people of the village knew every ' +
  'path, but nobody had ever gone as far as the old stone bridge. One morning';
const HEROES = [
  'a girl',
  'a young fox',
  'the baker',
  'a tired owl',
  'two brothers',
  'a lost dog',
  'the mayor',
  'a frog',
];

/** Between two arrivals. */
const BETWEEN_MS = 80;

/**
 * Several stories at once, to see the engine at work.
 * @param {import('./token-streams.js').TokenStreams} streams
 */
export function startLoad(streams) {
  /** @type {Set<() => void>} */
  const running = new Set();
  const show = () => {
    const hadFocus = document.activeElement === startButton || document.activeElement === stopButton;
    startButton.hidden = running.size > 0;
    stopButton.hidden = running.size === 0;
    if (hadFocus) (running.size > 0 ? stopButton : startButton).focus();
  };
  /** @param {number} i */
  const begin = (i) => {
    const end = () => leave(cancel);
    const fields = { max_tokens: 96 + ((i * 53) % 160), ...samplingFields() };
    const prompt = `${BEGINNING} ${HEROES[i % HEROES.length]}`;
    const cancel = streams.generate({ ...fields, prompt }, { onFinished: end, onError: end });
    running.add(cancel);
  };
  /** @param {() => void} cancel */
  const leave = (cancel) => {
    running.delete(cancel);
    show();
  };
  const start = () => {
    for (let i = 0; i < Number(count.value); i++) {
      const timer = setTimeout(() => {
        running.delete(wait);
        begin(i);
      }, i * BETWEEN_MS);
      const wait = () => clearTimeout(timer);
      running.add(wait);
    }
    show();
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    start();
  });
  stopButton.addEventListener('click', () => {
    for (const cancel of running) cancel();
    running.clear();
    show();
  });
}
