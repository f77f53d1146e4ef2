import { byId, create } from './dom.js';
import { requestJson, ServerError } from './server.js';

const choice = byId('engine-choice', HTMLDivElement);
const select = byId('engine', HTMLSelectElement);
const status = byId('status', HTMLParagraphElement);

let serving = '';

/**
 * The list of engines; choosing one swaps it under load.
 * @param {(problem: string) => void} showProblem
 */
export async function startEngineChoice(showProblem) {
  try {
    const { engine, engines } = await requestJson('/admin/engine');
    select.replaceChildren(...engines.map((/** @type {string} */ name) => create('option', '', name)));
    choice.hidden = false;
    showEngine(engine);
  } catch (error) {
    // A server without engines to choose from is as good.
    if (!(error instanceof ServerError && error.status === 404)) throw error;
  }
  select.addEventListener('change', async () => {
    select.setAttribute('aria-busy', 'true');
    status.textContent = `Starting ${select.value}.`;
    showProblem('');
    try {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ engine: select.value });
      const { engine } = await requestJson('/admin/engine', { method: 'PUT', headers, body });
      select.removeAttribute('aria-busy');
      showEngine(engine);
      status.textContent = `Now serving with ${engine}.`;
    } catch (error) {
      select.removeAttribute('aria-busy');
      showEngine(serving);
      showProblem(String(error instanceof Error ? error.message : error));
    }
  });
}

/** What serves, whoever chose it. @param {string} engine */
export function showEngine(engine) {
  serving = engine;
  // Not under the hand of who is waiting for another.
  if (!select.hasAttribute('aria-busy')) select.value = engine;
}
