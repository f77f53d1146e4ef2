import { fileURLToPath } from 'node:url';

/** The folder of the model inside the package; the paths are the same from `src` and from `dist`. */
export const EMBEDDED_MODEL = fileURLToPath(new URL('../models/storyteller-12m', import.meta.url));

/** The small model that drafts for it. */
export const EMBEDDED_DRAFT = fileURLToPath(new URL('../models/storyteller-draft', import.meta.url));
