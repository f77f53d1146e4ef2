import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { FastifyPluginAsync } from 'fastify';

/** Beside this file in `src` and in `dist`: the build copies it as it is. */
const PAGE = new URL('./page/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing from elsewhere, nothing inline, and in nobody's frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** `/`: a page to chat with the model and to watch the engine. It asks for the key itself, so it is shown without one. */
export const playground: FastifyPluginAsync = async (app) => {
  for (const name of await readdir(PAGE)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const content = await readFile(new URL(name, PAGE));
    const route = { config: { isPublic: true }, schema: { hide: true } };
    app.get(name === 'index.html' ? '/' : `/playground/${name}`, route, (_request, reply) =>
      reply.headers(HEADERS).type(type).send(content),
    );
  }
};
