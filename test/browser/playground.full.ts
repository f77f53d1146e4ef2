import { expect, it } from 'vitest';
import { engines } from '../../src/engines/index.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM, say, visit } from '../support/chromium.ts';
import { embeddedModel } from '../support/real-server.ts';
import { swappingServer } from '../support/swapping-server.ts';

const SECONDS = 40;
const reason = chromiumPath === undefined ? ` (skipped: ${NO_CHROMIUM})` : '';
const names = engines.map(({ recipe }) => recipe.name);

it.skipIf(chromiumPath === undefined)(
  `every engine chats and is drawn, each swapped in under load${reason}`,
  async () => {
    const server = await swappingServer(await embeddedModel(), 'prefix-caching', names);
    const browser = await launchChromium();
    const { page, problems } = await visit(browser, server.address);
    await page.locator('summary').click();
    await page.getByLabel('Max tokens').fill('32');
    await page.getByLabel('Streams').selectOption('16');
    for (const name of names) {
      await page.getByRole('button', { name: 'Run' }).click();
      await page.getByRole('combobox', { name: 'Engine' }).selectOption(name);
      await expect.poll(() => server.engine().name, { timeout: 60_000 }).toBe(name);
      const reply = await say(page, 'Tell me a story.');
      await expect.poll(() => page.locator('.message.pending').count(), { timeout: 60_000 }).toBe(0);
      expect([name, await reply.locator('.meta').textContent()]).toEqual([
        name,
        expect.stringMatching(/^\d+.*tokens\/s/),
      ]);
      await expect.poll(() => page.locator('#start-load').isVisible(), { timeout: 120_000 }).toBe(true);
      await page.getByRole('button', { name: 'New chat' }).click();
    }
    expect(problems).toEqual([]);
    await browser.close();
    await server.close();
  },
);

it.skipIf(chromiumPath === undefined)(`its memory is bounded while the engine runs on${reason}`, async () => {
  const server = await swappingServer(await embeddedModel(), 'prefix-caching', names);
  const browser = await launchChromium();
  const { page, problems } = await visit(browser, server.address);
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const run = async (seconds: number) => {
    for (const until = Date.now() + seconds * 1000; Date.now() < until; ) {
      await page.getByRole('button', { name: 'Run' }).click();
      await expect.poll(() => page.locator('#start-load').isVisible(), { timeout: 120_000 }).toBe(true);
    }
  };
  await run(SECONDS);
  const before = await heap();
  await run(SECONDS);
  expect((await heap()) / before).toBeLessThan(1.2);
  expect(problems).toEqual([]);
  await browser.close();
  await server.close();
});
