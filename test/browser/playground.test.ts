import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium, NO_CHROMIUM, say, type Visit, visit } from '../support/chromium.ts';
import { embeddedModel } from '../support/real-server.ts';
import { swappingServer } from '../support/swapping-server.ts';

const reason = chromiumPath === undefined ? ` (skipped: ${NO_CHROMIUM})` : '';

describe.skipIf(chromiumPath === undefined)(`the playground in Chromium${reason}`, () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof swappingServer>>;
  let opened: Visit;
  let page: Page;

  beforeAll(async () => {
    const model = await embeddedModel();
    [browser, server] = await Promise.all([
      launchChromium(),
      swappingServer(model, 'prefix-caching', ['kv-cache', 'prefix-caching', 'speculative']),
    ]);
    opened = await visit(browser, server.address);
    page = opened.page;
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  const streaming = () => page.locator('.message.pending').count();
  const ended = () => expect.poll(streaming).toBe(0);

  it('streams a reply to a message typed in, and tells what it took', async () => {
    await page.locator('summary').click();
    await page.getByLabel('Max tokens').fill('48');
    await page.getByLabel('Seed').fill('7');
    const reply = await say(page, 'Tell me a story about a brave cat.');
    const lengths = new Set<number>();
    while (await streaming()) lengths.add((await reply.locator('.text').textContent())!.length);
    expect(lengths.size).toBeGreaterThan(2);
    expect(await reply.locator('.meta').textContent()).toMatch(
      /^\d+\s\+\s48\stokens · TTFT\s[\d.]+\sms · TPOT\s[\d.]+\sms · \d+\stokens\/s · length$/,
    );
  });

  it('goes on with what was said before', async () => {
    const before = await page.locator('.message .meta').first().textContent();
    const reply = await say(page, 'And then?');
    await ended();
    const prompt = (text: string | null) => Number(/^\d+/.exec(text ?? '')?.[0]);
    const meta = await reply.locator('.meta').textContent();
    expect(prompt(meta)).toBeGreaterThan(prompt(before) + 48);
    expect(meta).toMatch(/\(\d+\scached\)/);
  });

  it('stops a reply half-way, and the engine stops, too', async () => {
    await page.getByLabel('Max tokens').fill('1500');
    const reply = await say(page, 'Tell me a long story.');
    await expect.poll(async () => (await reply.locator('.text').textContent())!.length).toBeGreaterThan(10);
    await page.keyboard.press('Escape');
    await ended();
    expect(await reply.locator('.meta').textContent()).toBe('stopped');
    await expect.poll(() => page.locator('[data-reading=batch]').textContent()).toBe('0');
  });

  it('tells in words what the server refuses, and keeps the message', async () => {
    await page.getByLabel('Message', { exact: true }).fill('many words '.repeat(3000));
    await page.keyboard.press('Enter');
    const reply = page.locator('.message.failed .meta');
    await expect.poll(() => reply.textContent()).toMatch(/tokens/);
    expect((await page.getByLabel('Message', { exact: true }).inputValue()).length).toBeGreaterThan(1000);
    await page.getByLabel('Message', { exact: true }).fill('');
  });

  it('shows steps, queue and shared blocks while several streams run', async () => {
    await page.getByLabel('Max tokens').fill('');
    await page.getByLabel('Streams').selectOption('16');
    await page.getByRole('button', { name: 'Run' }).click();
    const label = (id: string) => page.locator(`#${id}`).getAttribute('aria-label');
    await expect.poll(() => label('timeline')).toMatch(/^Steps \d+ to \d+, sequences( #\d+){9,}$/);
    await expect.poll(() => label('blocks')).toMatch(/[1-9]\d* of them shared/);
    await expect.poll(() => page.locator('[data-reading=queue]').textContent()).toMatch(/[1-9]\d* waiting/);
    expect(Number(await page.locator('[data-reading=rate]').textContent())).toBeGreaterThan(0);
    expect(await page.locator('[data-reading=ttft]').textContent()).toMatch(/^[\d.]+$/);
    for (const id of ['timeline', 'blocks']) expect(await coloursOf(page, id)).toBeGreaterThan(6);
    await page.locator('#stop-load').click();
    await expect.poll(() => page.locator('[data-reading=batch]').textContent()).toBe('0');
    await expect.poll(() => label('blocks')).toMatch(/^0 KV blocks held.*[1-9]\d* free that can be found again/);
  });

  it('looks back at an earlier step, with the arrow keys', async () => {
    const detail = () => page.locator('#step-detail').textContent();
    const latest = await detail();
    expect(latest).toMatch(/^Step \d+: #\d+ /);
    await page.getByLabel('Step to look at').focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(detail).not.toBe(latest);
    await page.keyboard.press('End');
    await expect.poll(detail).toBe(latest);
  });

  it('swaps the engine, which then drafts', async () => {
    await page.getByRole('combobox', { name: 'Engine' }).selectOption('speculative');
    await expect.poll(() => server.engine().name).toBe('speculative');
    await expect.poll(() => page.locator('#timeline').getAttribute('aria-label')).toBe('No step yet');
    await page.getByLabel('Max tokens').fill('48');
    const reply = await say(page, 'Tell me a story about a boat.');
    await ended();
    expect(await reply.locator('.meta').textContent()).toMatch(/%\sof\sdrafts\saccepted/);
    await expect.poll(() => page.locator('[data-reading=acceptance]').textContent()).toMatch(/^\d+$/);
  });

  it('has each control within reach of the Tab key, labelled and with a visible focus', async () => {
    const reached: string[] = [];
    await page.getByRole('combobox', { name: 'Engine' }).focus();
    for (let i = 0; i < 40; i++) {
      const focused = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        const labels = (element as HTMLInputElement).labels;
        const name = labels?.[0]?.textContent ?? element.ariaLabel ?? element.textContent ?? '';
        return {
          name: name.trim(),
          outline: getComputedStyle(element).outlineStyle,
          isBody: element === document.body,
        };
      });
      if (focused.isBody) break;
      expect(focused).toMatchObject({ name: expect.stringMatching(/./), outline: 'solid' });
      reached.push(focused.name);
      await page.keyboard.press('Tab');
    }
    expect(reached).toEqual([
      'Engine',
      'New chat',
      'Messages',
      'Message',
      'Send',
      'Sampling',
      ...['Temperature', 'Top-k', 'Top-p', 'Min-p', 'Max tokens', 'Seed'],
      ...['Repetition penalty', 'Frequency penalty', 'Presence penalty', 'System message'],
      'Streams',
      'Run',
      'Step to look at',
    ]);
  });

  it('runs nothing that was not its own', async () => {
    const inline = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'document.title = "taken over"';
      const blocked = new Promise((resolve) => document.addEventListener('securitypolicyviolation', resolve));
      document.body.append(script);
      return blocked.then(() => document.title);
    });
    expect(inline).toBe('rxllm playground');
    const complaints = opened.problems.filter((problem) => !problem.includes('Content Security Policy'));
    expect(complaints).toEqual([]);
  });

  it('asks for the key where the server wants one, and brings it everywhere', async () => {
    const keyed = await swappingServer(await embeddedModel(), 'kv-cache', ['kv-cache'], { apiKeys: ['a secret'] });
    const { page } = await visit(browser, keyed.address);
    await page.getByLabel('API key').fill('a guess');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/key is missing or wrong/);
    await page.getByLabel('API key').fill('a secret');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('combobox', { name: 'Engine' }).isVisible()).toBe(true);
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
    const reply = await say(page, 'Hello.');
    await expect.poll(async () => (await reply.locator('.text').textContent())!.length).toBeGreaterThan(5);
    await expect
      .poll(() => page.locator('#timeline').getAttribute('aria-label'))
      .toMatch(/^Steps 0 to \d+, sequences #1$/);
    await page.close();
    await keyed.close();
  });

  it('fits a phone, and is dark where the system is', async () => {
    const phone = await visit(browser, server.address, {
      viewport: { width: 360, height: 740 },
      colorScheme: 'dark',
      hasTouch: true,
    });
    await expect.poll(() => phone.page.locator('#engine-choice').isVisible()).toBe(true);
    const { overflow, background } = await phone.page.evaluate(() => ({
      overflow: document.documentElement.scrollWidth - innerWidth,
      background: getComputedStyle(document.body).backgroundColor,
    }));
    expect(overflow).toBeLessThanOrEqual(0);
    expect(background).toBe('rgb(18, 19, 23)');
    await phone.page.getByRole('button', { name: 'brave cat' }).tap();
    const reply = phone.page.locator('.message.assistant .text');
    await expect.poll(async () => (await reply.textContent())!.length).toBeGreaterThan(5);
    await phone.page.locator('#stop').tap();
    expect(phone.problems).toEqual([]);
    await phone.page.close();
  });
});

/** How many colours a canvas shows. */
function coloursOf(page: Page, id: string): Promise<number> {
  return page.locator(`#${id}`).evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}
