import { drawBlocks } from './blocks.js';
import { startChat } from './chat.js';
import { onSchemeChange } from './colours.js';
import { byId, oncePerFrame } from './dom.js';
import { showEngine, startEngineChoice } from './engine-choice.js';
import { EngineState } from './engine-state.js';
import { startLoad } from './load.js';
import { observe } from './observe.js';
import { showReadings } from './readings.js';
import { apiKey, rememberApiKey, requestJson, ServerError } from './server.js';
import { drawTimeline, startTimeline } from './timeline.js';
import { TokenStreams } from './token-streams.js';

const notice = byId('notice', HTMLParagraphElement);
const keyForm = byId('key-form', HTMLFormElement);
const keyInput = byId('key', HTMLInputElement);

const RETRY_MS = 1000;
const wait = () => new Promise((resolve) => setTimeout(resolve, RETRY_MS));

/** @param {string} text empty: there is nothing to say any more */
function showNotice(text) {
  notice.textContent = text;
  notice.hidden = text === '';
}

/** Until there is a key that the server takes, and the model is loaded. @returns {Promise<string>} the model's name */
async function modelName() {
  for (;;) {
    try {
      const { data } = await requestJson('/v1/models');
      showNotice('');
      return data[0].id;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (error.status !== 401 || apiKey() !== null) showNotice(error.message);
      if (error.status === 401) await askForKey();
      else await wait();
    }
  }
}

async function askForKey() {
  keyForm.hidden = false;
  keyInput.focus();
  await new Promise((resolve) => keyForm.addEventListener('submit', resolve, { once: true }));
  rememberApiKey(keyInput.value);
  keyForm.hidden = true;
  keyInput.value = '';
}

/** Draws the engine, and begins anew when the server was gone. @param {EngineState} state @param {() => void} redraw */
async function watchEngine(state, redraw) {
  for (;;) {
    try {
      for await (const message of observe()) {
        if (message.type === 'engine') {
          showNotice('');
          showEngine(message.engine);
        }
        state.apply(message);
        redraw();
      }
    } catch (error) {
      if (error instanceof ServerError) showNotice(error.message);
      if (error instanceof ServerError && error.status === 403) return;
    }
    await wait();
  }
}

keyForm.addEventListener('submit', (event) => event.preventDefault());

const streams = new TokenStreams();
const state = new EngineState();
const redraw = oncePerFrame(() => {
  showReadings(state);
  drawTimeline(state);
  drawBlocks(state);
});

startChat(streams);
startLoad(streams);
startTimeline(redraw);
onSchemeChange(redraw);
new ResizeObserver(redraw).observe(byId('timeline', HTMLCanvasElement));

byId('model', HTMLParagraphElement).textContent = await modelName();
byId('message', HTMLTextAreaElement).focus();
await Promise.all([
  startEngineChoice(showNotice).catch((error) => showNotice(error.message)),
  watchEngine(state, redraw),
]);
