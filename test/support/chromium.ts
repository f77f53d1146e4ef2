import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PATHS = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Where a Chromium is on this machine; `CHROMIUM` names another. */
export const chromiumPath = PATHS.find((path) => path !== undefined && existsSync(path));

export const NO_CHROMIUM = 'no Chromium here: .ci/install-chromium installs it from Debian, CHROMIUM=PATH names one';

export function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(NO_CHROMIUM);
  return chromium.launch({ executablePath: chromiumPath });
}

export interface Visit {
  readonly page: Page;
  /** Whatever the page complained of, or asked of another server. */
  readonly problems: readonly string[];
}

/** The playground at this address, ready for a message. */
export async function visit(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const page = await browser.newPage(options);
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== address) problems.push(`asked for ${request.url()}`);
  });
  await page.goto(address);
  return { page, problems };
}

/** Sends a message with the keyboard alone, and gives the place of its reply. */
export async function say(page: Page, text: string) {
  await page.getByLabel('Message', { exact: true }).focus();
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
  return page.locator('.message.assistant').last();
}
