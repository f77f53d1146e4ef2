import { fileURLToPath } from 'node:url';

/** The folder of the model inside the package; the path is the same from `src` and from `dist`. */
export const EMBEDDED_MODEL = fileURLToPath(new URL('../models/storyteller-12m', import.meta.url));
