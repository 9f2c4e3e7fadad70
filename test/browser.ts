import { execFileSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';

/** The path of an installed browser, or undefined. */
export const BROWSER = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  .map((name) => {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim();
    } catch {
      return '';
    }
  })
  .find((path) => path !== '');

/** Starts a browser that ends with the test and connects to nothing by itself. */
export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: BROWSER ?? '',
    chromiumSandbox: false,
    args: [
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  onTestFinished(() => browser.close());
  return browser;
}
