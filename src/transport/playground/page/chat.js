import { byId, create } from './dom.js';
import { samplingFields, samplingIsValid, systemMessages } from './sampling.js';

/** @typedef {import('./token-streams.js').Finished} Finished */

const log = byId('log', HTMLDivElement);
const suggestions = byId('suggestions', HTMLDivElement);
const composer = byId('composer', HTMLFormElement);
const input = byId('message', HTMLTextAreaElement);
const sendButton = byId('send', HTMLButtonElement);
const stopButton = byId('stop', HTMLButtonElement);
const clearButton = byId('clear', HTMLButtonElement);
const status = byId('status', HTMLParagraphElement);

/**
 * The conversation, and the form that goes on with it.
 * @param {import('./token-streams.js').TokenStreams} streams
 */
export function startChat(streams) {
  /** @type {{ role: string, content: string }[]} */
  let history = [];
  /** @type {(() => void) | undefined} */
  let stop;

  const send = () => {
    const content = input.value.trim();
    if (content === '' || stop !== undefined || !samplingIsValid()) return;
    const turn = [...history, { role: 'user', content }];
    const reply = showTurn(content);
    let text = '';

    /** @param {string} outcome */
    const end = (outcome) => {
      stop = undefined;
      history = [...turn, { role: 'assistant', content: text }];
      reply.end(outcome);
      setBusy(false);
    };
    const cancel = streams.generate(
      { messages: [...systemMessages(), ...turn], ...samplingFields() },
      {
        onToken: (piece) => {
          text += piece;
          reply.append(piece);
        },
        onFinished: (finished) => end(summary(finished)),
        onError: (message) => {
          const kept = history;
          end('');
          // It was not answered: it can be sent again.
          history = kept;
          reply.fail(message);
          if (input.value === '') input.value = content;
        },
      },
    );
    stop = () => {
      cancel();
      end('stopped');
    };
    input.value = '';
    setBusy(true);
  };

  composer.addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') stop?.();
  });
  stopButton.addEventListener('click', () => stop?.());
  clearButton.addEventListener('click', () => {
    stop?.();
    history = [];
    log.replaceChildren(suggestions);
    clearButton.disabled = true;
    input.focus();
  });
  suggestions.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    input.value = target.textContent;
    send();
  });
}

/** @param {boolean} busy */
function setBusy(busy) {
  const hadFocus = document.activeElement === stopButton || document.activeElement === sendButton;
  sendButton.hidden = busy;
  stopButton.hidden = !busy;
  clearButton.disabled = false;
  if (busy) status.textContent = 'The model is replying.';
  // Focus never falls through a button that went away.
  if (hadFocus) (busy ? stopButton : input).focus();
}

/**
 * A message and the place for its reply.
 * @param {string} content
 */
function showTurn(content) {
  const answer = create('div', 'message assistant pending');
  const text = create('p', 'text');
  const meta = create('p', 'meta');
  answer.append(text, meta);
  suggestions.remove();
  log.append(create('div', 'message user', content), answer);
  log.scrollTop = log.scrollHeight;

  /** What is read stays in place; who stands at the end follows it. @param {() => void} change */
  const following = (change) => {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    change();
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  return {
    /** @param {string} piece */
    append: (piece) => following(() => text.append(piece)),
    /** @param {string} outcome */
    end: (outcome) =>
      following(() => {
        answer.classList.remove('pending');
        meta.textContent = outcome;
        status.textContent = `The reply has ended: ${outcome}`;
      }),
    /** @param {string} message */
    fail: (message) =>
      following(() => {
        answer.classList.add('failed');
        meta.textContent = message;
        status.textContent = message;
      }),
  };
}

/**
 * What a reply took, in a line.
 * @param {Finished} finished
 */
function summary({ finish_reason, usage, metrics }) {
  const cached = usage.prompt_tokens_details.cached_tokens;
  const { ttft_ms, tpot_ms, throughput, acceptance_rate } = metrics;
  return [
    `${usage.prompt_tokens}${cached > 0 ? ` (${cached} cached)` : ''} + ${usage.completion_tokens} tokens`,
    ttft_ms !== undefined && `TTFT ${ttft_ms.toFixed(1)} ms`,
    tpot_ms !== undefined && `TPOT ${tpot_ms.toFixed(1)} ms`,
    `${throughput.toFixed(0)} tokens/s`,
    acceptance_rate !== undefined && `${(acceptance_rate * 100).toFixed(0)} % of drafts accepted`,
    finish_reason === 'stop' ? false : finish_reason,
  ]
    .filter((part) => typeof part === 'string')
    .map((part) => part.replaceAll(' ', '\u00a0'))
    .join(' · ');
}
