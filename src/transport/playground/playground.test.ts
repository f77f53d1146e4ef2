import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { buildServer } from '../server.ts';

const server = () => buildServer({ engine: () => fakeEngine(() => say(['a'])) }, { apiKeys: ['secret'] });

it('serves the page and all that it names, without the key', async () => {
  const app = server();
  const page = await app.inject('/');
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  const named = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
  expect(named).toEqual(['/playground/icon.svg', '/playground/style.css', '/playground/main.js']);
  const types = ['image/svg+xml', 'text/css; charset=utf-8', 'text/javascript; charset=utf-8'];
  for (const [i, url] of named.entries()) {
    const reply = await app.inject(url);
    expect([url, reply.statusCode, reply.headers['content-type']]).toEqual([url, 200, types[i]]);
  }
});

it('serves every module that another imports, and nothing else', async () => {
  const app = server();
  const seen = new Set(['main.js']);
  for (const name of seen) {
    const reply = await app.inject(`/playground/${name}`);
    expect([name, reply.statusCode]).toEqual([name, 200]);
    for (const [, module] of reply.body.matchAll(/from '\.\/(.+)'/g)) seen.add(module!);
  }
  expect(seen.size).toBeGreaterThan(10);
  for (const name of ['tsconfig.json', 'index.html', '../playground.ts', '%2e%2e/playground.ts']) {
    const reply = await app.inject({ url: `/playground/${name}`, headers: { authorization: 'Bearer secret' } });
    expect([name, reply.statusCode]).toEqual([name, 404]);
  }
});

it('allows itself nothing from elsewhere, and nothing inline', async () => {
  const { headers, body } = await server().inject('/');
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none';/);
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers['x-content-type-options']).toBe('nosniff');
  const styles = readFileSync(new URL('./page/style.css', import.meta.url), 'utf8');
  expect(body + styles).not.toMatch(/https?:|<script>|style="|url\(/);
});

it('takes no other method', async () => {
  const reply = await server().inject({ method: 'POST', url: '/', headers: { authorization: 'Bearer secret' } });
  expect([reply.statusCode, reply.headers.allow]).toEqual([405, expect.stringContaining('GET')]);
});
