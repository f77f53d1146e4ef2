/** For as long as the tab is open. */
const STORAGE_KEY = 'rxllm-api-key';

/** What the server said no with, in its own words. */
export class ServerError extends Error {
  /**
   * @param {number} status HTTP status, 0 when the server was not reached
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @returns {string | null} */
export const apiKey = () => sessionStorage.getItem(STORAGE_KEY);

/** @param {string} key */
export const rememberApiKey = (key) => sessionStorage.setItem(STORAGE_KEY, key);

/**
 * A request to this page's server, with the key if there is one. @throws ServerError
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
export async function request(path, init = {}) {
  const headers = new Headers(init.headers);
  const key = apiKey();
  if (key !== null) headers.set('authorization', `Bearer ${key}`);
  const response = await fetch(path, { ...init, headers }).catch((error) => {
    if (init.signal?.aborted) throw error;
    throw new ServerError(0, 'The server cannot be reached.');
  });
  if (response.ok) return response;
  throw new ServerError(response.status, await messageOf(response));
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 */
export const requestJson = async (path, init) => (await request(path, init)).json();

/**
 * @param {Response} response
 * @returns {Promise<string>}
 */
async function messageOf(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}
