import { byId } from './dom.js';

const form = byId('sampling', HTMLFormElement);

/** The fields of a request that were filled in. @returns {Record<string, number>} */
export function samplingFields() {
  const inputs = [...form.querySelectorAll('input')].filter(({ type, value }) => type === 'number' && value !== '');
  return Object.fromEntries(inputs.map(({ name, valueAsNumber }) => [name, valueAsNumber]));
}

/** @returns {{ role: string, content: string }[]} */
export function systemMessages() {
  const content = String(new FormData(form).get('system')).trim();
  return content === '' ? [] : [{ role: 'system', content }];
}

/** Shows what is wrong with a field, if anything is. @returns {boolean} whether all may be sent */
export function samplingIsValid() {
  const wrong = form.querySelector('input:invalid');
  if (wrong !== null) byId('sampling', HTMLFormElement).closest('details')?.setAttribute('open', '');
  return form.reportValidity();
}

// Enter in a field changes nothing but the field.
form.addEventListener('submit', (event) => event.preventDefault());
